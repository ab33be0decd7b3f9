/** Which document is open beside the conversation or in the library, and at which words. */
import { signal } from "../core/html.js";

/** @typedef {Pick<Citation, "source" | "start" | "end" | "quote" | "page"> & Partial<Citation>} Cited */
/** @typedef {Cited & { collection: string, quotes: Cited[] }} Opened */

/**
 * The document that is open: where, which characters of its text are marked, and all that the answer cites of it.
 * @type {{ value: Opened | null }}
 */
export const opened = signal(null);
/** @type {Element | null} */
let opener = null;

/**
 * Open a document at cited words.
 * @param {string} collection @param {Cited} cited
 * @param {Cited[]} [all] what the answer cites, for the way from one quote to the next
 */
export function openDocument(collection, cited, all = [cited]) {
  if (!opened.value) opener = document.activeElement;
  const spans = new Map(
    all.filter((each) => each.source === cited.source).map((each) => [`${each.start}-${each.end}`, each]),
  );
  const quotes = [...spans.values()].sort((a, b) => a.start - b.start);
  opened.value = { ...cited, collection, quotes };
}

/** Close the document, and give the focus back to what opened it. */
export function closeDocument() {
  opened.value = null;
  /** @type {HTMLElement | null} */ (opener)?.focus();
}
