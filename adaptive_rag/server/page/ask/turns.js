/** The questions and answers of the conversation, and the quote of the hovered mark. */
import { html, useEffect, useLayoutEffect, useRef, useSignal } from "../core/html.js";
import { currentRoute, updateUrl } from "../core/route.js";
import { isRestoring } from "../core/scroll.js";
import { t } from "../core/texts.js";
import { Answer } from "./answer.js";
import { CitationCard, markEvents } from "./citations.js";
import { hiddenTurns, storedKey, thread, turns } from "./conversation.js";

// The rendered turns. A turn that has not changed is not rendered again, which matters in long conversations.
const renderedTurns = new WeakMap();

export function Turns() {
  const hidden = useSignal(hiddenTurns);
  const shown = useSignal(turns).filter((turn) => !hidden.has(storedKey(turn)));
  const owner = useSignal(thread)?.shared_by;
  useAutoScroll(shown);
  return html`<div ...${markEvents}>
    ${owner && html`<p class="turn soft small">${t("shared_note", { name: owner })}</p>`}
    ${shown.map((turn) => {
      if (!renderedTurns.has(turn)) renderedTurns.set(turn, html`<${Answer} key=${turn.key} turn=${turn} />`);
      return renderedTurns.get(turn);
    })}
    <${CitationCard} />
  </div>`;
}

/**
 * Scroll to the turn that the URL names. Otherwise keep the end in view while an answer grows, unless the user has
 * scrolled away from it.
 * @param {Turn[]} shown
 */
function useAutoScroll(shown) {
  const previous = useRef({ turns: 0, last: "", isAtEnd: true });
  const page = document.documentElement;
  useEffect(() => {
    const onScroll = () => {
      previous.current.isAtEnd = page.scrollHeight - innerHeight - scrollY < 48;
    };
    window.addEventListener("scroll", onScroll, { passive: true });
    return () => window.removeEventListener("scroll", onScroll);
  }, []);
  useLayoutEffect(() => {
    const last = shown.at(-1);
    // A turn whose deletion was undone is not new.
    const isNew = shown.length > previous.current.turns && last?.key !== previous.current.last;
    Object.assign(previous.current, { turns: shown.length, last: last?.key });
    const { thread: id, turn } = currentRoute.value.query;
    if (turn && isNew) {
      updateUrl(["ask"], { thread: id });
      const element = document.querySelectorAll("article.turn")[shown.findIndex((each) => each.id === turn)];
      if (element instanceof HTMLElement) {
        scrollTo({ top: scrollY + element.getBoundingClientRect().top - 64, behavior: "instant" });
        element.focus({ preventScroll: true });
        return;
      }
    }
    if (!last || isRestoring() || !(isNew || previous.current.isAtEnd)) return;
    const end = page.scrollHeight - innerHeight;
    // Show an answer that arrives in one piece from its question on.
    const question = document.querySelector(".turn:last-of-type")?.getBoundingClientRect().top ?? 0;
    const arrivedAtOnce = last.state === "answered" && !last.draft && !isNew;
    scrollTo({ top: arrivedAtOnce ? Math.min(end, scrollY + question - 64) : end, behavior: "instant" });
  }, [shown.at(-1), shown.length]);
}
