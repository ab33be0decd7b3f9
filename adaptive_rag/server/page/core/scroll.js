/** Restore the scroll position when the user goes back, as soon as the content has loaded again. */

/** How long nothing may move until scrolling, or growing content, counts as finished. */
const MS_UNTIL_STILL = 100;
/** How long to wait for the content to load. */
const MS_OF_LOADING = 5000;
const page = document.documentElement;
let storeTimer = 0;
/** Aborts the restoration in progress. @type {AbortController | null} */
let restoration = null;

/** Return whether a scroll position is being restored. */
export const isRestoring = () => restoration !== null;

history.scrollRestoration = "manual";
window.addEventListener("scroll", storePosition, { passive: true });
window.addEventListener("hashchange", restorePosition);
restorePosition();

/** Store the scroll position and the topmost turn in the history entry, once scrolling has stopped. */
function storePosition() {
  clearTimeout(storeTimer);
  storeTimer = setTimeout(() => {
    if (restoration) return;
    const turns = [...document.querySelectorAll("article.turn")];
    const turn = turns.findIndex((each) => each.getBoundingClientRect().bottom > 0);
    const offset = turns[turn]?.getBoundingClientRect().top;
    history.replaceState({ ...history.state, top: scrollY, turn, offset }, "");
  }, MS_UNTIL_STILL);
}

/** Scroll to the stored position of the current history entry; to the top if it has none. */
function restorePosition() {
  clearTimeout(storeTimer);
  restoration?.abort();
  const { top, turn, offset } = history.state ?? {};
  if (top === undefined) return scrollTo({ top: 0, behavior: "instant" });
  const stop = new AbortController();
  const growth = new ResizeObserver(() => {
    // The heights of turns out of view may have changed, so scroll to the turn that was in view.
    const turnElement = document.querySelectorAll("article.turn")[turn];
    if (turn < 0 ? page.scrollHeight - innerHeight < top : !turnElement) return;
    const target = turnElement ? scrollY + turnElement.getBoundingClientRect().top - offset : top;
    scrollTo({ top: target, behavior: "instant" });
    clearTimeout(timer);
    timer = setTimeout(() => stop.abort(), MS_UNTIL_STILL); // what has come into view may still grow
  });
  let timer = setTimeout(() => stop.abort(), MS_OF_LOADING);
  // Stop as soon as the user scrolls, clicks or types.
  for (const kind of ["wheel", "touchmove", "pointerdown", "keydown"])
    window.addEventListener(kind, () => stop.abort(), { signal: stop.signal, passive: true });
  stop.signal.addEventListener("abort", () => {
    clearTimeout(timer);
    growth.disconnect();
    restoration = null;
  });
  restoration = stop;
  growth.observe(document.body);
}
