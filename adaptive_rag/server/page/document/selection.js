/** The words that the user has selected in a document, and their position in its text. */

/**
 * @typedef {{ start?: number, end?: number, quote?: string, page?: number, shown?: string }} TextRange
 *   from `start` to `end` of the text; or `quote`, near `start` or on a page. `shown` is what the user sees of the words
 */

/** Return the number of code points, which is how the server counts characters. @param {string} text */
export const lengthOf = (text) => Array.from(text).length;

/**
 * Return the selected words in an element, or null. Each part of the text has `data-from`, the position where it begins,
 * or `data-page` if only the page is known. `data-about` means that the rendered part differs from the text.
 * @param {HTMLElement | null} box @returns {TextRange | null}
 */
export function selectedWords(box) {
  const selection = document.getSelection();
  if (!box || !selection?.rangeCount || selection.isCollapsed) return null;
  const range = selection.getRangeAt(0);
  const parts = [
    .../** @type {NodeListOf<HTMLElement>} */ (box.querySelectorAll("[data-from], [data-page]")),
  ];
  const selected = parts.filter((part) => range.intersectsNode(part));
  const quote = selection.toString().trim();
  const [first, last] = [selected[0], selected[selected.length - 1]];
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
 * Return the number of characters of a part before a position in it.
 * @param {HTMLElement} part @param {Node} container @param {number} offset @param {number} outside the result if the position is not in the part
 */
function charactersBefore(part, container, offset, outside) {
  const length = lengthOf(part.textContent ?? "");
  if (!part.contains(container)) return Math.min(outside, length);
  const range = document.createRange();
  range.setStart(part, 0);
  range.setEnd(container, offset);
  return lengthOf(range.toString());
}
