/** Describe in words where a span is in its document. */
import { labelFor } from "./texts.js";

/**
 * Return a place in words: "page 11, 4.2 How dredging affects the marsh"; "" if nothing is known.
 * @param {Place} place
 */
export function describePlace(place) {
  const { page, slide, sheet, row, cells = [], cell, lines = [] } = place;
  const [first, last] = lines;
  return [
    place.mail,
    place.attachment && labelFor("place", "attachment", place),
    page && labelFor("place", "page", place),
    slide && labelFor("place", "slide", place),
    sheet && labelFor("place", "sheet", place),
    cells.length === 1 || cells.length === 2
      ? labelFor("place", "cells", { n: cells.length, cells: cells.join(", ") })
      : row && labelFor("place", "row", place),
    cell && labelFor("place", "cell", place),
    place.time,
    place.section !== place.mail && place.section?.split(" > ").pop(),
    first && labelFor("place", "lines", { n: last === first ? 1 : 2, lines: [...new Set(lines)].join("–") }),
  ]
    .filter(Boolean)
    .join(", ");
}

/**
 * Return the collection and the name of a document. If several collections were asked, "handbook/rules.md" is
 * "rules.md" in "handbook".
 * @param {string[]} collections @param {string} source @returns {[collection: string, name: string]}
 */
export function splitSource(collections, source) {
  if (collections.length < 2) return [collections[0], source];
  const [collection] = source.split("/", 1);
  return [collection, source.slice(collection.length + 1)];
}

/**
 * Return the name of a document to show: "rules.md (handbook)" if several collections were asked.
 * @param {string[]} collections @param {string} source
 */
export function documentLabel(collections, source) {
  const [collection, name] = splitSource(collections, source);
  return collections.length > 1 ? `${documentName(name)} (${collection})` : documentName(name);
}

// Characters that are invisible or change the text direction, except the joiners that scripts and emoji need.
const HIDDEN = /(?![\u200c\u200d])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** Return a file name without its folders, or a whole URL, with hidden characters escaped. @param {string} source */
export function documentName(source) {
  const name = (!source.includes("://") && source.split(/[\\/]/).pop()) || source;
  return name.replace(HIDDEN, (each) => `\\u{${each.codePointAt(0)?.toString(16)}}`);
}
