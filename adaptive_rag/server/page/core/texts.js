/** The page's texts in the reader's language. */

import { signal } from "./html.js";
import { firstLanguage, loadTexts, storeLanguage } from "./language.js";

/** @typedef {import("./language.js").Language} Language */

/** The texts in the shown language. @type {Omit<import("./language.js").Texts, "sentences">} */
let shown = { texts: {}, labels: {}, phrases: {} };
/** The server's sentences that have no code: a pattern of the English one, and one in the reader's language. @type {[RegExp, string][]} */
let sentences = [];
/** @type {{ value: Language }} */
export const language = signal(/** @type {Language} */ ("en"));
/** Resolves when the texts in the reader's language are loaded; in English if they cannot be. */
export const textsLoaded = applyLanguage(firstLanguage).catch(() => applyLanguage("en"));

/** Store a language, and show the page in it once its texts are loaded. @param {Language} choice */
export function setLanguage(choice) {
  storeLanguage(choice);
  return applyLanguage(choice);
}

/** @param {Language} choice */
async function applyLanguage(choice) {
  const texts = await loadTexts(choice);
  shown = texts;
  sentences = Object.entries(texts.sentences).map(([english, words]) => [patternOf(english), words]);
  document.documentElement.lang = choice;
  language.value = choice;
}

/** Return a pattern that finds a sentence of the server in a text. @param {string} english with "{}" for each value */
function patternOf(english) {
  const parts = english.split("{}").map((part) => part.replace(/[.*+?^$()|[\]\\]/g, "\\$&"));
  return new RegExp(`(?<![\\p{L}\\p{N}])${parts.join("(.+?)")}(?![\\p{L}\\p{N}])`, "gu");
}

/**
 * Translate a message of the server into the reader's language, if the page knows its sentences.
 * @param {string} text @returns {{ text: string, lang?: string }} `lang` is set if the text is not in the reader's language
 */
export function translate(text) {
  if (!sentences.length) return { text };
  // Quotations are not translated.
  const parts = text
    .split(/(“[^”]*”)/)
    .map((part, at) => (at % 2 ? part : sentences.reduce(replaceSentence, part)));
  return { text: parts.join(""), lang: parts.join("") === text ? "en" : undefined };
}

/** @param {string} text @param {[RegExp, string]} sentence */
const replaceSentence = (text, [pattern, words]) =>
  text.replace(pattern, (_, ...values) => {
    let at = 0;
    return words.replace(/\{\}/g, () => localizeNumber(values[at++]));
  });

/** Format a number of an English sentence, such as "20,000", for the reader. @param {string} value */
const localizeNumber = (value) =>
  /^\d{1,3}(,\d{3})+$/.test(value) ? formatNumber(Number(value.replaceAll(",", ""))) : value;

/**
 * Return the template of a phrase, or undefined if the server's own words are to be shown.
 * @param {string} code @returns {string | undefined}
 */
export const phraseTemplate = (code) => ownValue(shown.phrases, code);

/**
 * Return a text; its key if it is missing. A value replaces "{name}", and the singular or plural "{n|one|many}".
 * @param {string} key @param {Record<string, any>} [values]
 */
export const t = (key, values = {}) => fillText(shown.texts[key] ?? key, values);

/** @param {string} text @param {Record<string, any>} values */
const fillText = (text, values) => fillTemplate(text, values, (name) => formatValue(values[name]));

/**
 * Fill a text with values. `format` gets the name of a value, and what follows ":" in "{name:;}" or "{name:3}".
 * @param {string} text @param {Record<string, any>} values @param {(name: string, form?: string) => string} format
 */
export const fillTemplate = (text, values, format) =>
  text
    .replace(/\{(\w+)\|([^|}]*)\|([^|}]*)\}/g, (_, name, one, many) =>
      Number(values[name]) === 1 ? one : many,
    )
    .replace(/\{(\w+)(?::([^}]*))?\}/g, (_, name, form) => format(name, form));

/**
 * Return the label of a code of the server, such as the name of a step; the code itself if it has none.
 * @param {string} kind @param {string} code @param {Record<string, any>} [values]
 */
export function labelFor(kind, code, values = {}) {
  const label = findLabel(kind, code);
  return label === undefined ? code.replaceAll("_", " ") : fillText(label, values);
}

/** Return the label of a code of the server, if it has one. @param {string} kind @param {string} code @returns {string | undefined} */
export const findLabel = (kind, code) => ownValue(shown.labels[kind] ?? {}, code);

/** Return the codes that have a label, in the order of the labels. @param {string} kind */
export const labelledCodes = (kind) => Object.keys(shown.labels[kind] ?? {});

/** Return what a table has for a code, which may be a name like "constructor". @param {Record<string, string>} table @param {string} code */
const ownValue = (table, code) => (Object.hasOwn(table, code) ? table[code] : undefined);

/** Return the browser's variant of the chosen language, if it has one: en-GB writes "22 Nov 2026". */
const locale = () => (navigator.language.startsWith(language.value) ? navigator.language : language.value);

/** @param {number} share from 0 to 1 */
export function formatPercent(share) {
  return share.toLocaleString(language.value, { style: "percent" });
}

/** @param {number} ms */
export function formatDuration(ms) {
  const [value, unit] = ms < 1000 ? [Math.round(ms) || "<\u00a01", "ms"] : [Math.round(ms / 100) / 10, "s"];
  return `${formatValue(value)}\u00a0${unit}`;
}

/** @param {number} value @param {number} [digits] the most decimal places */
export const formatNumber = (value, digits = 2) =>
  value.toLocaleString(language.value, { maximumFractionDigits: digits });
/** @param {string | number} value */
const formatValue = (value) => (typeof value === "number" ? value.toLocaleString(language.value) : value);
/** @param {string[]} items */
export const formatList = (items) => new Intl.ListFormat(language.value).format(items);

/** @param {string} moment */
export function formatDate(moment) {
  return new Intl.DateTimeFormat(locale(), { dateStyle: "medium", timeStyle: "short" }).format(
    new Date(moment),
  );
}

/** Return the day, such as "Today" or "Monday, 3 March 2025". @param {string} moment @returns {string} */
export function formatDay(moment) {
  const [day, today] = [new Date(moment), new Date()].map((each) => each.setHours(12, 0, 0, 0));
  const ago = Math.round((today - day) / 86_400_000);
  if (ago > 1) return new Intl.DateTimeFormat(locale(), { dateStyle: "full" }).format(day);
  const word = new Intl.RelativeTimeFormat(language.value, { numeric: "auto" }).format(-ago, "day");
  return word[0].toUpperCase() + word.slice(1);
}

/** @param {string} moment */
export function formatTime(moment) {
  return new Intl.DateTimeFormat(locale(), { timeStyle: "short" }).format(new Date(moment));
}

/** @param {number} bytes */
export function formatBytes(bytes) {
  const step = bytes < 1000 ? 0 : Math.min(3, Math.floor(Math.log10(bytes) / 3));
  const unit = ["byte", "kilobyte", "megabyte", "gigabyte"][step];
  return new Intl.NumberFormat(language.value, {
    style: "unit",
    unit,
    unitDisplay: step ? "short" : "long",
    maximumFractionDigits: step ? 1 : 0,
  }).format(bytes / 1000 ** step);
}
