/** The texts that the server sends as a code with values: in English with its words, in German with those of the page's texts. */
import { describePlace, documentName } from "./places.js";
import { fillTemplate, formatList, formatNumber, labelFor, phraseTemplate, translate } from "./texts.js";

/** The values that are codes, such as a strategy, with the kind of their labels. @type {Record<string, string>} */
const LABELLED = {
  type: "strategy",
  other_type: "strategy",
  kind: "choice",
  profile: "choice",
  complexity: "choice",
};

/** Return a phrase in the reader's language. @param {Phrase} phrase @returns {string} */
export function phraseText({ code, values, text, heading }) {
  const words = phraseTemplate(code);
  if (!words) return heading ? text.slice(2, -2) : text;
  return fillTemplate(words, values, (name, form) => formatPhraseValue(name, values[name], form));
}

/**
 * Return a value of a phrase in the reader's language.
 * @param {string} name @param {any} value
 * @param {string} [form] the separator of a list, or the most decimal places of a number
 * @returns {string}
 */
function formatPhraseValue(name, value, form) {
  if (Array.isArray(value)) {
    const items = value.map((each) => formatPhraseValue(name, each));
    return form ? items.join(`${form} `) : formatList(items);
  }
  if (typeof value === "number") return formatNumber(value, form ? Number(form) : undefined);
  if (typeof value === "string")
    return name in LABELLED
      ? labelFor(LABELLED[name], value)
      : name === "why"
        ? translate(value).text
        : value;
  if ("code" in value) return phraseText(value);
  return [documentName(value.source), describePlace(value.place)].filter(Boolean).join(", ");
}

/** Return reasons in the reader's language. @param {{ why?: string, reason?: string, reasons?: Phrase[] }} record @returns {Message} */
export function formatReasons({ why, reason, reasons = [] }) {
  if (!reasons.length) return translate(why ?? reason ?? "");
  return { text: reasons.map(phraseText).join("; ") };
}

// The placeholder of a mark: the index of its part between private-use characters, which Markdown leaves unchanged.
export const MARK_PLACEHOLDER = /\uE002(\d+)\uE003/;
const PLACEHOLDER_CHARACTERS = /[\uE000-\uE003]/g;
const MARK_OR_CODE = /(```[\s\S]*?(?:```|$)|`[^`\n]*`)|\[(\d+)\]/;

/** Return the parts of a draft, whose citations are not known yet. @param {string} text @returns {AnswerPart[]} */
export const parseDraft = (text) =>
  text.split(MARK_OR_CODE).flatMap((piece = "", at) => {
    if (!piece) return [];
    return at % 3 === 2 ? { text: `[${piece}]`, marker: Number(piece) } : { text: piece };
  });

/** Return an answer as Markdown, with a placeholder for each mark. @param {AnswerPart[]} parts */
export const partsToMarkdown = (parts) =>
  parts
    .map((part, at) =>
      isMark(part) ? `\uE002${at}\uE003` : partText(part).replace(PLACEHOLDER_CHARACTERS, ""),
    )
    .join("");

/** Return whether a part is the mark of a citation. @param {AnswerPart} part */
export const isMark = (part) => part.citation !== undefined || part.marker !== undefined;

/** Return the text of a part in the reader's language. @param {AnswerPart} part @returns {string} */
export function partText(part) {
  if (!part.code) return part.text;
  const words = phraseText(/** @type {Phrase} */ (part));
  return part.heading ? `**${words}**` : words;
}
