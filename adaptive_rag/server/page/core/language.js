/** The reader's language, and the page's texts in it. They load while the modules that show them do. */

const KEY = "adaptive-rag.language";

/** @typedef {"en" | "de"} Language */
/**
 * What a language has for the keys of the page's texts, for the codes of the server by kind, for the phrases that the
 * server sends by code, and for its sentences that have no code, by their English words with "{}" for each value.
 * @typedef {{ texts: Record<string, string>, labels: Record<string, Record<string, string>>, phrases: Record<string, string>, sentences: Record<string, string> }} Texts
 */

/** The language that the reader has chosen, or else the browser's if the page has it. @type {Language} */
export const firstLanguage =
  (localStorage.getItem(KEY) ?? navigator.language.slice(0, 2)) === "de" ? "de" : "en";

/** @param {Language} choice */
export const storeLanguage = (choice) => localStorage.setItem(KEY, choice);

/** @type {{ [language in Language]?: Promise<Texts> }} */
const loaded = {};

/** Load the texts in a language, once. @param {Language} language @returns {Promise<Texts>} */
export function loadTexts(language) {
  loaded[language] ??= fetchTexts(language).catch((error) => {
    delete loaded[language]; // the next call tries again
    throw error;
  });
  return loaded[language];
}

/** @param {Language} language */
async function fetchTexts(language) {
  const response = await fetch(`/page/texts/${language}.json`);
  if (!response.ok) throw new Error(`${response.url}: ${response.status}`);
  return response.json();
}

// A failure is handled by those who wait for the texts.
loadTexts(firstLanguage).catch(() => {});
