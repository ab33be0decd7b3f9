/** The page's words in the language of who reads them. */

import { de } from "../texts/de.js";
import { en } from "../texts/en.js";
import { signal } from "./html.js";

const LANGUAGES = { en, de };
const KEY = "adaptive-rag.language";

/** @typedef {keyof typeof LANGUAGES} Language */

/** @type {{ value: Language }} */
export const language = signal(first());

/** @param {Language} chosen */
export function setLanguage(chosen) {
  localStorage.setItem(KEY, chosen);
  document.documentElement.lang = chosen;
  language.value = chosen;
}

/**
 * Return a text; `{name}` in it stands for a value, and "{n|one|many}" for a word after a number.
 * @param {Words} key @param {Record<string, string | number>} [values]
 */
export function t(key, values = {}) {
  return LANGUAGES[language.value][key]
    .replace(/\{(\w+)\|([^|}]*)\|([^|}]*)\}/g, (_, name, one, many) =>
      Number(values[name]) === 1 ? one : many,
    )
    .replace(/\{(\w+)\}/g, (_, name) => show(values[name]));
}

/**
 * Return the word for something that the server names, such as a step; without one, the name itself.
 * @param {string} kind what the texts' keys begin with; "" for strategies @param {string} name
 */
export function named(kind, name) {
  const key = kind ? `${kind}_${name.replaceAll(" ", "_")}` : name;
  return key in en ? t(/** @type {Words} */ (key)) : name.replaceAll("_", " ");
}

/** Where the browser speaks the chosen language, its own kind of it: a British one writes "22 Nov 2026". */
const locale = () => (navigator.language.startsWith(language.value) ? navigator.language : language.value);

/** @param {number} share from 0 to 1 */
export function formatPercent(share) {
  return share.toLocaleString(language.value, { style: "percent" });
}

/** @param {number} ms */
export function formatDuration(ms) {
  const [value, unit] = ms < 1000 ? [Math.round(ms) || "<\u00a01", "ms"] : [Math.round(ms / 100) / 10, "s"];
  return `${show(value)}\u00a0${unit}`;
}

/** @param {string | number} value */
function show(value) {
  return typeof value === "number" ? value.toLocaleString(language.value) : value;
}

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

function first() {
  const wished = localStorage.getItem(KEY) ?? navigator.language.slice(0, 2);
  const found = /** @type {Language} */ (Object.hasOwn(LANGUAGES, wished) ? wished : "en");
  document.documentElement.lang = found;
  return found;
}
