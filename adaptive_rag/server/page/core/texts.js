/** The page's texts in the reader's language. */

import { en } from "../texts/en.js";
import { signal } from "./html.js";

const KEY = "adaptive-rag.language";

/** @typedef {"en" | "de"} Language */

/** The texts by language. German is loaded on first use. @type {{ en: Record<TextKey, string>, de?: Record<TextKey, string> }} */
const languages = { en };
/** The server's sentences that have no code: a pattern of the English one, and the German one. @type {[RegExp, string][]} */
let sentences = [];
/** What the server says by code, in German. @type {Record<string, string>} */
let phrases = {};
/** @type {{ value: Language }} */
export const language = signal(/** @type {Language} */ ("en"));
/** Resolves when the texts in the reader's language are loaded; in English if they cannot be. */
export const textsLoaded = applyLanguage(initialLanguage()).catch(() => applyLanguage("en"));

/** @param {Language} chosen kept at once, so that it holds even if the page is reloaded before the texts are there */
export function setLanguage(chosen) {
  localStorage.setItem(KEY, chosen);
  return applyLanguage(chosen);
}

/** @param {Language} chosen */
async function applyLanguage(chosen) {
  if (chosen === "de" && !languages.de) {
    const [{ de }, said] = await Promise.all([import("../texts/de.js"), import("../texts/said_de.js")]);
    languages.de = de;
    phrases = said.phrases;
    sentences = said.sentences.map(([english, german]) => [patternOf(english), german]);
  }
  document.documentElement.lang = chosen;
  language.value = chosen;
}

/** @param {string} english with "{}" for each value */
function patternOf(english) {
  const parts = english.split("{}").map((part) => part.replace(/[.*+?^$()|[\]\\]/g, "\\$&"));
  return new RegExp(`(?<![\\p{L}\\p{N}])${parts.join("(.+?)")}(?![\\p{L}\\p{N}])`, "gu");
}

/**
 * Translate a message of the server into the reader's language, if the page knows its sentences.
 * @param {string} text @returns {{ text: string, lang?: string }} `lang` is set if the text is not in the reader's language
 */
export function translate(text) {
  if (language.value === "en") return { text };
  // Quotations are not translated.
  const found = text
    .split(/(“[^”]*”)/)
    .map((part, at) => (at % 2 ? part : sentences.reduce(replaceSentence, part)));
  return { text: found.join(""), lang: found.join("") === text ? "en" : undefined };
}

/** @param {string} text @param {[RegExp, string]} sentence */
const replaceSentence = (text, [pattern, german]) =>
  text.replace(pattern, (_, ...values) => {
    let at = 0;
    return german.replace(/\{\}/g, () => localizeNumber(values[at++]));
  });

/** @param {string} value of an English sentence, such as "20,000" */
const localizeNumber = (value) =>
  /^\d{1,3}(,\d{3})+$/.test(value) ? formatNumber(Number(value.replaceAll(",", ""))) : value;

/** @param {string} code @returns {string | undefined} the words of a phrase; undefined if the server's own are to be shown */
export const phraseTemplate = (code) => (language.value === "de" ? phrases[code] : undefined);

/**
 * Return a text. A value replaces "{name}", and the singular or plural replaces "{n|one|many}".
 * @param {TextKey} key @param {Record<string, string | number>} [values]
 */
export const t = (key, values = {}) =>
  fillTemplate((languages[language.value] ?? en)[key], values, (name) => formatValue(values[name]));

/**
 * Fill a text with values. `applyLanguage` gets the name of a value, and what follows ":" in "{name:;}" or "{name:3}".
 * @param {string} text @param {Record<string, any>} values @param {(name: string, form?: string) => string} show
 */
export const fillTemplate = (text, values, show) =>
  text
    .replace(/\{(\w+)\|([^|}]*)\|([^|}]*)\}/g, (_, name, one, many) =>
      Number(values[name]) === 1 ? one : many,
    )
    .replace(/\{(\w+)(?::([^}]*))?\}/g, (_, name, form) => show(name, form));

/**
 * Return the word for a name that the server uses, such as a step; the name itself if there is none.
 * @param {string} kind the prefix of the text's key; "" for strategies @param {string} name
 */
export function labelFor(kind, name) {
  const key = kind ? `${kind}_${name.replaceAll(" ", "_")}` : name;
  return key in en ? t(/** @type {TextKey} */ (key)) : name.replaceAll("_", " ");
}

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

/** @param {number} value @param {number} [digits] after the point, at most */
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

/** @param {string} moment @returns {string} the day, such as "Today" or "Monday, 3 March 2025" */
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

/** @returns {Language} */
function initialLanguage() {
  return (localStorage.getItem(KEY) ?? navigator.language.slice(0, 2)) === "de" ? "de" : "en";
}
