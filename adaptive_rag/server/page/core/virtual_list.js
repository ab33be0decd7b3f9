/** A virtual list: only the parts near the window are rendered. It scrolls with the page or in a box. */
import { html, useEffect, useElement, useLayoutEffect, useRef, useState } from "./html.js";

/**
 * Render the parts in view. `row` returns the content of a part; `onSeen` gets the index of the middle one.
 * The box scrolls to the part of `target` at first, and again for each new object. It does not scroll if `isShown`
 * is set, because the part has then scrolled into view itself.
 * @param {{ count: number, height: (index: number) => number, measured?: Map<number, number>,
 *   target?: { index: number, isShown?: boolean }, row: (index: number, height: number) => any, onSeen?: (middle: number) => void }} props
 * `height` estimates the pixels of a part that has not been rendered; `measured` keeps those of the others
 */
export function VirtualList({ count, height, measured, target, row, onSeen }) {
  const list = useElement();
  const ownHeights = useRef(/** @type {Map<number, number>} */ (new Map())).current;
  const heights = measured ?? ownHeights;
  const [[first, last, middle], setRange] = useState([0, 0, 0]);
  /** @param {number} index */
  const heightOf = (index) => heights.get(index) ?? height(index);
  /** Return where each part begins, in pixels from the top of the list. The last number is where the list ends. */
  const measureOffsets = () => {
    const offsets = [0];
    for (let index = 0; index < count; index++) offsets.push(offsets[index] + heightOf(index));
    return offsets;
  };
  /** Store the heights of the rendered parts, and find which parts are near the window now. */
  const update = () => {
    const box = list.current.closest(".scroller");
    const frame = box?.getBoundingClientRect() ?? new DOMRect(0, 0, innerWidth, innerHeight);
    for (const part of list.current.children) {
      const index = Number(part.dataset.at);
      const { top, height: newHeight } = part.getBoundingClientRect();
      const oldHeight = heightOf(index);
      heights.set(index, newHeight);
      // A part that starts above the window must not move the text below it when its height changes.
      if (newHeight !== oldHeight && top < frame.top && top + Math.min(oldHeight, newHeight) <= frame.bottom)
        (box ?? window).scrollBy({ top: newHeight - oldHeight, behavior: "instant" });
    }
    const offsets = measureOffsets();
    const { top } = list.current.getBoundingClientRect();
    /** @param {number} y in the window, in pixels */
    const partAt = (y) => {
      const index = offsets.findLastIndex((start) => start <= y - top);
      return Math.max(0, Math.min(count - 1, index));
    };
    const [from, to] = [partAt(-innerHeight), Math.min(count, partAt(2 * innerHeight) + 1)];
    const center = partAt(frame.top + frame.height / 2);
    setRange((range) => (String(range) === String([from, to, center]) ? range : [from, to, center]));
  };
  const latestUpdate = useRef(update);
  latestUpdate.current = update;
  useLayoutEffect(() => {
    if (target && !target.isShown)
      list.current.closest(".scroller").scrollTop = measureOffsets()[target.index];
  }, [target]);
  useLayoutEffect(update, [target, count, height]);
  // Measure before the first paint: `showInMiddle` needs the heights.
  useLayoutEffect(() => {
    const onChange = () => latestUpdate.current();
    const stop = new AbortController();
    // Follow anything that scrolls, and to changes of height above the list or in it.
    const resizes = new ResizeObserver(onChange);
    for (const element of [document.body, ...list.current.children]) resizes.observe(element);
    window.addEventListener("scroll", onChange, { passive: true, capture: true, signal: stop.signal });
    window.addEventListener("resize", onChange, stop);
    stop.signal.addEventListener("abort", () => resizes.disconnect());
    return () => stop.abort();
  }, [first, last]);
  useEffect(() => onSeen?.(middle), [middle, onSeen]);
  const indices = Array.from(
    { length: Math.max(0, Math.min(last, count) - first) },
    (_, offset) => first + offset,
  );
  const offsets = measureOffsets();
  const [above, below] = [offsets[first] ?? 0, offsets[count] - (offsets[first + indices.length] ?? 0)];
  return html`<div class="long-list" ref=${list} style=${{ paddingBlock: `${above}px ${below}px` }}>
    ${indices.map((index) => html`<div key=${index} data-at=${index}>${row(index, heightOf(index))}</div>`)}
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
