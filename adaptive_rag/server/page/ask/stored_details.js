/** Store how answers were found, which the server does not keep: for threads that are opened again while the tab is open. */
const KEY_PREFIX = "adaptive-rag.way";

/** @typedef {Partial<Pick<Turn, "steps" | "analysis" | "passages">>} AnswerDetails */

/** Store how a turn was answered. @param {Turn} turn of a stored thread */
export function storeDetails(turn) {
  const { thread, id, steps, analysis, passages } = turn;
  const details = JSON.stringify({ steps, analysis, passages });
  try {
    sessionStorage.setItem(`${KEY_PREFIX}.${thread}.${id}`, details);
  } catch {
    // The storage is full: replace the older entries.
    const older = Object.keys(sessionStorage).filter((name) => name.startsWith(KEY_PREFIX));
    for (const name of older) sessionStorage.removeItem(name);
    if (older.length) storeDetails(turn);
  }
}

/**
 * Return how a turn was answered; empty if it was not stored.
 * @param {string} thread @param {string} id of the turn @returns {AnswerDetails}
 */
export function loadDetails(thread, id) {
  return JSON.parse(sessionStorage.getItem(`${KEY_PREFIX}.${thread}.${id}`) ?? "{}");
}
