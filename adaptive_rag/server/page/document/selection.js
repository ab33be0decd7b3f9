/** The words that the user has selected in a document, and where they are in its text. */

/**
 * @typedef {{ start?: number, end?: number, quote?: string, page?: number, shown?: string }} TextRange
 *   from `start` to `end` of the text; or `quote`, near `start` or on a page. `shown` is what the user sees of them
 */

/** @param {string} text @returns {number} the number of code points, as the server counts them */
export const lengthOf = (text) => Array.from(text).length;

/**
 * Return the selected words in an element, or null. Parts of the text are marked with `data-from`, the place where they
 * begin; with `data-page`, if only their page is known; and with `data-about`, if they read otherwise than the text.
 * @param {HTMLElement | null} box @returns {TextRange | null}
 */
export function selectedWords(box) {
  const selection = document.getSelection();
  if (!box || !selection?.rangeCount || selection.isCollapsed) return null;
  const range = selection.getRangeAt(0);
  const parts = [
    .../** @type {NodeListOf<HTMLElement>} */ (box.querySelectorAll("[data-from], [data-page]")),
  ];
  const found = parts.filter((part) => range.intersectsNode(part));
  const quote = selection.toString().trim();
  const [first, last] = [found[0], found[found.length - 1]];
  if (!first || !quote) return null;
  if (first.dataset.page) return { page: Number(first.dataset.page), quote };
  const start = Number(first.dataset.from);
  if (first.dataset.about) return { start, quote };
  return {
    start: start + charactersBefore(first, range.startContainer, range.startOffset, 0),
    end: Number(last.dataset.from) + charactersBefore(last, range.endContainer, range.endOffset, Infinity),
    shown: quote,
  };
}

/**
 * Return how many characters of a part stand before a place in it.
 * @param {HTMLElement} part @param {Node} container @param {number} offset @param {number} outside if the place is not in it
 */
function charactersBefore(part, container, offset, outside) {
  const whole = lengthOf(part.textContent ?? "");
  if (!part.contains(container)) return Math.min(outside, whole);
  const range = document.createRange();
  range.setStart(part, 0);
  range.setEnd(container, offset);
  return lengthOf(range.toString());
}
