/** Describe in words where a span is in its document. */
import { t } from "./texts.js";

/**
 * Return a place in words: "page 11, 4.2 How dredging affects the marsh"; "" if nothing is known.
 * @param {Place} place
 */
export function describePlace(place) {
  const { page, slide, sheet, row, cells = [], cell, lines = [] } = place;
  const [first, last] = lines;
  return [
    place.mail,
    place.attachment && t("place_attachment", { name: place.attachment }),
    page && t("place_page", { n: page }),
    slide && t("place_slide", { n: slide }),
    sheet && t("place_sheet", { name: sheet }),
    cells.length === 1 || cells.length === 2
      ? t("place_cells", { n: cells.length, names: cells.join(", ") })
      : row && t("place_row", { n: row }),
    cell && t("place_cell", { n: cell }),
    place.time,
    place.section !== place.mail && place.section?.split(" > ").pop(),
    first && t("place_lines", { n: last === first ? 1 : 2, lines: [...new Set(lines)].join("–") }),
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
