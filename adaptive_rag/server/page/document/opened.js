/** The document that is open beside the conversation or in the library, and its cited words. */
import { signal } from "../core/html.js";
import { splitSource } from "../core/places.js";

/** @typedef {Pick<Citation, "source" | "start" | "end" | "quote" | "page"> & Partial<Citation>} Cited */
/** @typedef {Cited & { collection: string, quotes: Cited[] }} Opened */

/**
 * The open document: its collection and source, the span to mark, and all quotes that the answer takes from it.
 * @type {{ value: Opened | null }}
 */
export const opened = signal(null);
/** @type {Element | null} */
let returnFocus = null;

/**
 * Open a document, and mark the cited words.
 * @param {string | string[]} collections that were asked @param {Cited} cited
 * @param {Cited[]} [all] the citations of the answer, to step from one quote to the next
 */
export function openDocument(collections, cited, all = [cited]) {
  const [collection, source] = splitSource([collections].flat(), cited.source);
  if (!opened.value) returnFocus = document.activeElement;
  const citations = all.filter((each) => each.source === cited.source);
  const spans = new Map(citations.map((each) => [`${each.start}-${each.end}`, { ...each, source }]));
  const quotes = [...spans.values()].sort((a, b) => a.start - b.start);
  opened.value = { ...cited, source, collection, quotes };
}

/** Close the document, and return the focus to the element that opened it. */
export function closeDocument() {
  opened.value = null;
  /** @type {HTMLElement | null} */ (returnFocus)?.focus();
}
