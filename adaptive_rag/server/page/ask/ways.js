/** How answers were found, as long as the tab is open: a thread that is opened again, or loaded anew, shows it. */
const KEY = "adaptive-rag.way";

/** @typedef {Partial<Pick<Turn, "steps" | "analysis" | "passages" | "documents"> & Pick<Answer, "confidence" | "grounding">>} Kept */

/** @param {Turn} turn of a thread that the server keeps */
export function keepWay({ thread, number, steps, analysis, passages, documents, answer }) {
  const { confidence, grounding } = answer ?? {};
  const kept = JSON.stringify({ steps, analysis, passages, documents, confidence, grounding });
  try {
    sessionStorage.setItem(`${KEY}.${thread}.${number}`, kept);
  } catch {
    // The browser keeps no more for this page: the ways of older answers make room.
    for (const name of Object.keys(sessionStorage)) if (name.startsWith(KEY)) sessionStorage.removeItem(name);
  }
}

/** @param {string} thread @param {number} number @returns {Kept} nothing where it was not kept */
export function keptWay(thread, number) {
  return JSON.parse(sessionStorage.getItem(`${KEY}.${thread}.${number}`) ?? "{}");
}
