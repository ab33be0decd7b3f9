/** Restore the scroll position when the user goes back, as soon as the content has loaded again. */

const MS_OF_REST = 100;
const MS_OF_GROWING = 5000;
const page = document.documentElement;
let resting = 0;
/** Aborts the restoration in progress. @type {AbortController | null} */
let coming = null;

/** Return whether a scroll position is being restored. */
export const isRestoring = () => coming !== null;

history.scrollRestoration = "manual";
window.addEventListener("scroll", keep, { passive: true });
window.addEventListener("hashchange", arrive);
arrive();

/** Store the scroll position and the topmost turn in the history entry, once scrolling has stopped. */
function keep() {
  clearTimeout(resting);
  resting = setTimeout(() => {
    if (coming) return;
    const turns = [...document.querySelectorAll("article.turn")];
    const turn = turns.findIndex((each) => each.getBoundingClientRect().bottom > 0);
    const offset = turns[turn]?.getBoundingClientRect().top;
    history.replaceState({ ...history.state, top: scrollY, turn, offset }, "");
  }, MS_OF_REST);
}

function arrive() {
  clearTimeout(resting);
  coming?.abort();
  const { top, turn, offset } = history.state ?? {};
  if (top === undefined) return scrollTo({ top: 0, behavior: "instant" });
  const stop = new AbortController();
  const grown = new ResizeObserver(() => {
    // The heights of turns out of view may have changed, so scroll to the turn that was in view.
    const seen = document.querySelectorAll("article.turn")[turn];
    if (turn < 0 ? page.scrollHeight - innerHeight < top : !seen) return;
    const moved = seen ? scrollY + seen.getBoundingClientRect().top - offset : top;
    scrollTo({ top: moved, behavior: "instant" });
    clearTimeout(given);
    given = setTimeout(() => stop.abort(), MS_OF_REST); // what comes into view there may still grow
  });
  let given = setTimeout(() => stop.abort(), MS_OF_GROWING);
  // Stop as soon as the user scrolls, clicks or types.
  for (const kind of ["wheel", "touchmove", "pointerdown", "keydown"])
    window.addEventListener(kind, () => stop.abort(), { signal: stop.signal, passive: true });
  stop.signal.addEventListener("abort", () => {
    clearTimeout(given);
    grown.disconnect();
    coming = null;
  });
  coming = stop;
  grown.observe(document.body);
}
