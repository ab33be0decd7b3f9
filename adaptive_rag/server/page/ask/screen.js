/** The screen where questions are asked: the conversation, and beside it the document that is open. */
import { html, useEffect, useLayoutEffect, useRef, useSignal } from "../core/html.js";
import { isReturning } from "../core/scroll.js";
import { t } from "../core/texts.js";
import { DocumentPane, opened } from "../document/pane.js";
import { useThreadAddress } from "./address.js";
import { Answer } from "./answer.js";
import { CitationCard, onMarks } from "./citations.js";
import { Composer } from "./composer.js";
import { isAsking, opening, stop, turns } from "./conversation.js";
import { Welcome } from "./welcome.js";

// A turn that did not change keeps its node, so that of a long conversation only the last is drawn again.
const drawn = new WeakMap();

export function AskScreen() {
  const shown = useSignal(turns);
  const isLoading = useSignal(opening) !== "";
  useThreadAddress();
  const isOpen = useSignal(opened) !== null;
  useFollowing(shown);
  useEffect(() => {
    window.addEventListener("keydown", stopAtEscape);
    return () => window.removeEventListener("keydown", stopAtEscape);
  }, []);
  return html`<div class=${isOpen ? "ask with-document" : "ask"}>
    <section class="conversation" aria-label=${t("nav_ask")}>
      <h1 class="unseen">${t("nav_ask")}</h1>
      <div class="turns" ...${onMarks}>
        ${shown.map((turn) => {
          if (!drawn.has(turn)) drawn.set(turn, html`<${Answer} key=${turn.key} turn=${turn} />`);
          return drawn.get(turn);
        })}
        ${isLoading && html`<p class="turn soft" aria-busy="true">${t("loading")}</p>`}
        ${!shown.length && !isLoading && html`<${Welcome} />`}
      </div>
      <${Progress} />
      <${Composer} />
    </section>
    <${DocumentPane} />
    <${CitationCard} />
  </div>`;
}

/** Says to those who do not see it that an answer is on its way, or there. */
function Progress() {
  const asking = useSignal(isAsking);
  const last = useSignal(turns).at(-1);
  const isThere = last?.state === "answered" && last.steps.length > 0;
  return html`<p class="unseen" role="status">${asking ? t("ask_working") : isThere ? t("ask_answered") : ""}</p>`;
}

/** @param {KeyboardEvent} event */
function stopAtEscape({ key, defaultPrevented, target }) {
  const isElsewhere = target instanceof Element && target.closest("aside, dialog");
  if (key === "Escape" && !defaultPrevented && !isElsewhere) stop();
}

/** Keep the end in view while an answer grows, as long as the person is there. @param {Turn[]} shown */
function useFollowing(shown) {
  const before = useRef({ turns: 0, isAtEnd: true });
  const page = document.documentElement;
  useEffect(() => {
    const look = () => {
      before.current.isAtEnd = page.scrollHeight - innerHeight - scrollY < 48;
    };
    window.addEventListener("scroll", look, { passive: true });
    return () => window.removeEventListener("scroll", look);
  }, []);
  useLayoutEffect(() => {
    const last = shown.at(-1);
    const isNew = shown.length > before.current.turns;
    before.current.turns = shown.length;
    if (!last || isReturning() || !(isNew || before.current.isAtEnd)) return;
    const end = page.scrollHeight - innerHeight;
    // An answer that comes at once is read from its question on.
    const question = document.querySelector(".turn:last-of-type")?.getBoundingClientRect().top ?? 0;
    const isRead = last.state === "answered" && !last.draft && !isNew;
    scrollTo({ top: isRead ? Math.min(end, scrollY + question - 64) : end, behavior: "instant" });
  }, [shown]);
}
