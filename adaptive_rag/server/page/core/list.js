/** A long list of which only the parts near the window are drawn; it scrolls with the page, or in a box. */
import { html, useEffect, useLayoutEffect, useRef, useState } from "./html.js";

/**
 * Draw the parts in sight; `row` returns what stands in one, and `onSeen` learns which are drawn, and which
 * is in the middle of the box. The box shows first what `target` names, and again whenever that is another object,
 * but for one that its part has brought into view already.
 * @param {{ count: number, height: number | ((at: number) => number), label?: string, target?: { index: number, isShown?: boolean },
 *   row: (at: number, height: number) => any, onSeen?: (first: number, last: number, middle: number) => void }} props
 * `height` is that of each part in rem, or a guess in pixels of one that was never drawn
 */
export function VirtualList({ count, height, label, target, row, onSeen }) {
  const list = useRef(/** @type {any} */ (null));
  const measured = useRef(/** @type {Map<number, number>} */ (new Map())).current;
  const [[first, last, middle], setSeen] = useState(/** @type {[number, number, number]} */ ([0, 0, 0]));
  const isEven = typeof height === "number";
  const even = isEven ? height * Number.parseFloat(getComputedStyle(document.documentElement).fontSize) : 0;
  /** @param {number} at */
  const high = (at) => (isEven ? even : (measured.get(at) ?? height(at)));
  /** Where each part begins, and at last the end of all. */
  const places = () => {
    const starts = [0];
    for (let at = 0; at < count; at++) starts.push(starts[at] + high(at));
    return starts;
  };
  const look = () => {
    if (!list.current) return;
    const box = list.current.parentElement;
    for (const part of isEven ? [] : list.current.children) {
      const at = Number(part.ariaPosInSet) - 1;
      const [before, after] = [high(at), part.getBoundingClientRect().height];
      // What grows or shrinks from above the window on must not move what is read below it.
      const start = places()[at];
      const end = start + Math.min(before, after);
      if (before !== after && start < box.scrollTop && end <= box.scrollTop + box.clientHeight)
        box.scrollTop += after - before;
      measured.set(at, after);
    }
    const starts = places();
    const { top } = list.current.getBoundingClientRect();
    const frame = box.getBoundingClientRect();
    /** @param {number} y */
    const partAt = (y) =>
      Math.max(
        0,
        Math.min(
          count - 1,
          starts.findLastIndex((start) => start <= y - top),
        ),
      );
    const [from, to] = [partAt(-innerHeight), Math.min(count, partAt(2 * innerHeight) + 1)];
    const now = partAt(frame.top + frame.height / 2);
    setSeen((seen) => (String(seen) === String([from, to, now]) ? seen : [from, to, now]));
  };
  const latest = useRef(look);
  latest.current = look;
  useLayoutEffect(() => {
    if (target && !target.isShown) list.current.parentElement.scrollTop = places()[target.index];
  }, [target]);
  useLayoutEffect(look, [target, count, height]);
  // Before anything is painted: what shows a part in the middle counts on its measure.
  useLayoutEffect(() => {
    const again = () => latest.current();
    // Of whatever scrolls, and whatever above the list or in it grows.
    const watched = new ResizeObserver(again);
    for (const each of [document.body, ...list.current.children]) watched.observe(each);
    window.addEventListener("scroll", again, { passive: true, capture: true });
    window.addEventListener("resize", again);
    return () => {
      watched.disconnect();
      window.removeEventListener("scroll", again, { capture: true });
      window.removeEventListener("resize", again);
    };
  }, [first, last]);
  useEffect(() => onSeen?.(first, last, middle), [first, last, middle, onSeen]);
  const drawn = Array.from({ length: Math.max(0, Math.min(last, count) - first) }, (_, at) => first + at);
  const starts = places();
  return html`<ul class="plain long-list" aria-label=${label} ref=${list} style=${{ paddingBlock: `${starts[first] ?? 0}px ${starts[count] - (starts[first + drawn.length] ?? 0)}px` }}>
    ${drawn.map(
      (at) => html`<li key=${at} aria-setsize=${count} aria-posinset=${at + 1}
        style=${isEven && { blockSize: `${even}px` }}>${row(at, high(at))}</li>`,
    )}
  </ul>`;
}

/** Bring what was cited to the middle of its box, and give it the focus. @param {HTMLElement} element */
export function showInMiddle(element) {
  const box = /** @type {HTMLElement} */ (element.closest(".long-list")?.parentElement);
  box.dispatchEvent(new Event("scroll")); // the list measures what has grown, before it moves
  const { top, height } = element.getBoundingClientRect();
  box.scrollTop += top - box.getBoundingClientRect().top - Math.max(0, (box.clientHeight - height) / 2);
  element.focus({ preventScroll: true });
}
