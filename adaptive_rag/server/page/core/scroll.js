/** Where each screen was left: who goes back finds it scrolled as it was, once what was seen is there again. */

const MS_OF_REST = 100;
const MS_OF_GROWING = 5000;
const page = document.documentElement;
let resting = 0;
/** Ends the way back. @type {AbortController | null} */
let coming = null;

/** Whether the screen will be scrolled to where it was left. */
export const isReturning = () => coming !== null;

history.scrollRestoration = "manual";
window.addEventListener("scroll", keep, { passive: true });
window.addEventListener("hashchange", arrive);
arrive();

/** Write down in this entry of the history how far it is scrolled, once it rests, and which turn stands there. */
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
    // Turns out of sight have other heights than before: what counts is the one that was seen.
    const seen = document.querySelectorAll("article.turn")[turn];
    if (turn < 0 ? page.scrollHeight - innerHeight < top : !seen) return;
    const moved = seen ? scrollY + seen.getBoundingClientRect().top - offset : top;
    scrollTo({ top: moved, behavior: "instant" });
    clearTimeout(given);
    given = setTimeout(() => stop.abort(), MS_OF_REST); // what comes into sight there may still grow
  });
  let given = setTimeout(() => stop.abort(), MS_OF_GROWING);
  // What a person does meanwhile counts more.
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
