/** The current screen, which the part of the URL after "#" names. */
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
  const given = Object.entries(query).filter((pair) => pair[1] !== undefined);
  const search = new URLSearchParams(/** @type {[string, string][]} */ (given)).toString();
  return `#/${path.map(encodeURIComponent).join("/")}${search && `?${search}`}`;
}

/** Go to a screen. @param {string[]} path @param {Record<string, string | undefined>} [query] */
export function navigate(path, query) {
  window.location.hash = link(path, query);
}

/**
 * Set the URL of what is already shown. With `isNew`, the back button leads to what was shown before.
 * @param {string[]} path @param {Record<string, string | undefined>} [query]
 */
export function updateUrl(path, query, isNew = false) {
  if (isNew) history.pushState(null, "", link(path, query));
  else history.replaceState(history.state, "", link(path, query));
  currentRoute.value = readRoute();
}

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
    return part; // typed by hand and invalid; it names nothing
  }
}
