/** A virtual list: only the parts near the window are rendered. It scrolls with the page or in a box. */
import { html, useEffect, useElement, useLayoutEffect, useRef, useState } from "./html.js";

/**
 * Render the parts in view. `row` returns the content of a part; `onSeen` gets the index of the middle one.
 * The box scrolls to the part of `target` at first, and again for each new object. It does not scroll if `isShown`
 * is set, because the part has then scrolled into view itself.
 * @param {{ count: number, height: (at: number) => number, measured?: Map<number, number>,
 *   target?: { index: number, isShown?: boolean }, row: (at: number, height: number) => any, onSeen?: (middle: number) => void }} props
 * `height` estimates the pixels of a part that has not been rendered; `measured` keeps those of the others
 */
export function VirtualList({ count, height, measured, target, row, onSeen }) {
  const list = useElement();
  const own = useRef(/** @type {Map<number, number>} */ (new Map())).current;
  const known = measured ?? own;
  const [[first, last, middle], setSeen] = useState([0, 0, 0]);
  /** @param {number} at */
  const high = (at) => known.get(at) ?? height(at);
  /** Return where each part begins, and last the end of the list. */
  const places = () => {
    const starts = [0];
    for (let at = 0; at < count; at++) starts.push(starts[at] + high(at));
    return starts;
  };
  const look = () => {
    const box = list.current.closest(".scroller");
    const frame = box?.getBoundingClientRect() ?? new DOMRect(0, 0, innerWidth, innerHeight);
    for (const part of list.current.children) {
      const at = Number(part.dataset.at);
      const { top, height: now } = part.getBoundingClientRect();
      const before = high(at);
      known.set(at, now);
      // A part that starts above the window must not move the text below it when its height changes.
      if (now !== before && top < frame.top && top + Math.min(before, now) <= frame.bottom)
        (box ?? window).scrollBy({ top: now - before, behavior: "instant" });
    }
    const starts = places();
    const { top } = list.current.getBoundingClientRect();
    /** @param {number} y */
    const partAt = (y) => {
      const found = starts.findLastIndex((start) => start <= y - top);
      return Math.max(0, Math.min(count - 1, found));
    };
    const [from, to] = [partAt(-innerHeight), Math.min(count, partAt(2 * innerHeight) + 1)];
    const now = partAt(frame.top + frame.height / 2);
    setSeen((seen) => (String(seen) === String([from, to, now]) ? seen : [from, to, now]));
  };
  const latest = useRef(look);
  latest.current = look;
  useLayoutEffect(() => {
    if (target && !target.isShown) list.current.closest(".scroller").scrollTop = places()[target.index];
  }, [target]);
  useLayoutEffect(look, [target, count, height]);
  // Measure before the first paint: `showInMiddle` needs the heights.
  useLayoutEffect(() => {
    const again = () => latest.current();
    const stop = new AbortController();
    // React to anything that scrolls, and to changes of height above the list or in it.
    const watched = new ResizeObserver(again);
    for (const each of [document.body, ...list.current.children]) watched.observe(each);
    window.addEventListener("scroll", again, { passive: true, capture: true, signal: stop.signal });
    window.addEventListener("resize", again, stop);
    stop.signal.addEventListener("abort", () => watched.disconnect());
    return () => stop.abort();
  }, [first, last]);
  useEffect(() => onSeen?.(middle), [middle, onSeen]);
  const drawn = Array.from({ length: Math.max(0, Math.min(last, count) - first) }, (_, at) => first + at);
  const starts = places();
  const [above, below] = [starts[first] ?? 0, starts[count] - (starts[first + drawn.length] ?? 0)];
  return html`<div class="long-list" ref=${list} style=${{ paddingBlock: `${above}px ${below}px` }}>
    ${drawn.map((at) => html`<div key=${at} data-at=${at}>${row(at, high(at))}</div>`)}
  </div>`;
}

/** Scroll a cited element to the middle of its box, and focus it. @param {HTMLElement} element */
export function showInMiddle(element) {
  const box = /** @type {HTMLElement} */ (element.closest(".scroller"));
  box.dispatchEvent(new Event("scroll")); // the list measures its parts before they move
  const { top, height } = element.getBoundingClientRect();
  box.scrollTop += top - box.getBoundingClientRect().top - Math.max(0, (box.clientHeight - height) / 2);
  element.focus({ preventScroll: true });
}
