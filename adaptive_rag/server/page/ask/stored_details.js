/** Store how answers were found, which the server does not keep: for threads that are opened again while the tab is open. */
const KEY_PREFIX = "adaptive-rag.way";

/** @typedef {Partial<Pick<Turn, "steps" | "analysis" | "passages">>} AnswerDetails */

/** Store how a turn was answered. @param {Turn} turn of a stored thread */
export function storeDetails({ thread, id, steps, analysis, passages }) {
  const details = JSON.stringify({ steps, analysis, passages });
  try {
    sessionStorage.setItem(`${KEY_PREFIX}.${thread}.${id}`, details);
  } catch {
    // The storage is full: delete the older entries.
    for (const name of Object.keys(sessionStorage))
      if (name.startsWith(KEY_PREFIX)) sessionStorage.removeItem(name);
  }
}

/**
 * Return how a turn was answered; empty if it was not stored.
 * @param {string} thread @param {string} id of the turn @returns {AnswerDetails}
 */
export function loadDetails(thread, id) {
  return JSON.parse(sessionStorage.getItem(`${KEY_PREFIX}.${thread}.${id}`) ?? "{}");
}
