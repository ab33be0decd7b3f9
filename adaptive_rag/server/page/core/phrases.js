/** What the server says by code: in English in its own words, in other languages in those of texts/said_de.js. */
import { documentName, placeWords } from "./places.js";
import { fill, formatList, named, number, phraseOf, translated } from "./texts.js";

/** The values that are names of the server's, with the prefix of the page's word for them. @type {Record<string, string>} */
const NAMES = { type: "", other_type: "", kind: "chosen", profile: "chosen", complexity: "chosen" };

/** @param {Phrase} phrase @returns {string} its words in the reader's language */
export function wordsFor({ code, values, text, heading }) {
  const words = phraseOf(code);
  if (!words) return heading ? text.slice(2, -2) : text;
  return fill(words, values, (name, form) => valueWords(name, values[name], form));
}

/** @param {string} name @param {any} value @param {string} [form] what stands between the items of a list, or the digits of a number @returns {string} */
function valueWords(name, value, form) {
  if (Array.isArray(value)) {
    const items = value.map((each) => valueWords(name, each));
    return form ? items.join(`${form} `) : formatList(items);
  }
  if (typeof value === "number") return number(value, form ? Number(form) : undefined);
  if (typeof value === "string")
    return name in NAMES ? named(NAMES[name], value) : name === "why" ? translated(value).text : value;
  if ("code" in value) return wordsFor(value);
  return [documentName(value.source), placeWords(value.place)].filter(Boolean).join(", ");
}

/** Return reasons in the reader's language. @param {{ why?: string, reason?: string, reasons?: Phrase[] }} of @returns {Said} */
export function reasonsOf({ why, reason, reasons = [] }) {
  if (!reasons.length) return translated(why ?? reason ?? "");
  return { text: reasons.map(wordsFor).join("; ") };
}

// A placeholder of private-use characters for a mark, which Markdown passes through: the index of its part.
export const HELD_MARK = /\uE002(\d+)\uE003/;
const OWN = /[\uE000-\uE003]/g;
const MARK_OR_CODE = /(```[\s\S]*?(?:```|$)|`[^`\n]*`)|\[(\d+)\]/;

/** Return the parts of a draft, whose citations are not known yet. @param {string} text @returns {AnswerPart[]} */
export const partsOfDraft = (text) =>
  text.split(MARK_OR_CODE).flatMap((piece = "", at) => {
    if (!piece) return [];
    return at % 3 === 2 ? { text: `[${piece}]`, marker: Number(piece) } : { text: piece };
  });

/** Return an answer as Markdown, with a placeholder for each mark. @param {AnswerPart[]} parts */
export const markdownOf = (parts) =>
  parts.map((part, at) => (isMark(part) ? `\uE002${at}\uE003` : textOf(part).replace(OWN, ""))).join("");

/** @param {AnswerPart} part */
export const isMark = (part) => part.citation !== undefined || part.marker !== undefined;

/** @param {AnswerPart} part @returns {string} its text in the reader's language */
export function textOf(part) {
  if (!part.code) return part.text;
  const words = wordsFor(/** @type {Phrase} */ (part));
  return part.heading ? `**${words}**` : words;
}
