/** The questions and answers of the conversation, and the quote of the hovered mark. */
import { html, useEffect, useLayoutEffect, useRef, useSignal } from "../core/html.js";
import { isReturning } from "../core/scroll.js";
import { Answer } from "./answer.js";
import { CitationCard, onMarks } from "./citations.js";
import { turns } from "./conversation.js";

// A turn that has not changed keeps its node, so only the last one of a long conversation is rerendered.
const drawn = new WeakMap();

export function Turns() {
  const shown = useSignal(turns);
  useFollowing(shown);
  return html`<div ...${onMarks}>
    ${shown.map((turn) => {
      if (!drawn.has(turn)) drawn.set(turn, html`<${Answer} key=${turn.key} turn=${turn} />`);
      return drawn.get(turn);
    })}
    <${CitationCard} />
  </div>`;
}

/** Keep the end in view while an answer grows, unless the user has scrolled away from it. @param {Turn[]} shown */
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
    // An answer that arrives in one piece is read from its question on.
    const question = document.querySelector(".turn:last-of-type")?.getBoundingClientRect().top ?? 0;
    const isRead = last.state === "answered" && !last.draft && !isNew;
    scrollTo({ top: isRead ? Math.min(end, scrollY + question - 64) : end, behavior: "instant" });
  }, [shown]);
}
