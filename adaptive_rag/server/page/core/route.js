/** The current screen, which is named by the part of the URL after "#". */
import { signal } from "./html.js";

/**
 * The current path and query: "#/library/handbook?document=1" is ["library", "handbook"] with {document: "1"}.
 * @type {{ value: { path: string[], query: Record<string, string> } }}
 */
export const currentRoute = signal(readRoute());

window.addEventListener("hashchange", () => {
  currentRoute.value = readRoute();
});

/**
 * Return the URL of a screen.
 * @param {string[]} path @param {Record<string, string | undefined>} [query] undefined values are left out
 */
export function link(path, query = {}) {
  const parameters = Object.entries(query).filter((pair) => pair[1] !== undefined);
  const search = new URLSearchParams(/** @type {[string, string][]} */ (parameters)).toString();
  return `#/${path.map(encodeURIComponent).join("/")}${search && `?${search}`}`;
}

/** Go to a screen. @param {string[]} path @param {Record<string, string | undefined>} [query] */
export function navigate(path, query) {
  window.location.hash = link(path, query);
}

/**
 * Change the URL without leaving the screen. With `isNew`, the back button returns to the previous URL.
 * @param {string[]} path @param {Record<string, string | undefined>} [query]
 */
export function updateUrl(path, query, isNew = false) {
  if (isNew) history.pushState(null, "", link(path, query));
  else history.replaceState(history.state, "", link(path, query));
  currentRoute.value = readRoute();
}

/** Return the path and the query of the URL. */
function readRoute() {
  const [path, search = ""] = window.location.hash.replace(/^#\/?/, "").split("?", 2);
  return {
    path: path.split("/").filter(Boolean).map(decode),
    query: Object.fromEntries(new URLSearchParams(search)),
  };
}

/** @param {string} part */
function decode(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // invalid, because somebody typed it; it names nothing
  }
}
