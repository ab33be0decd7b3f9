/** The current user, and the collections that they may read. */
import { get, getAll, post, remove, signInNeeded } from "./api.js";
import { computed, effect, signal } from "./html.js";
import { place } from "./route.js";

/** @type {{ value: Me | null }} */
export const me = signal(null);
/** @type {{ value: WaysIn | null }} */
export const waysIn = signal(null);
/** @type {{ value: Collection[] | null }} */
export const collections = signal(null);

const KEY = "adaptive-rag.collection";
const ASKED = "adaptive-rag.asked";
const chosen = signal((localStorage.getItem(KEY) ?? "").split("/"));

/** The collections that questions go to: those chosen, or the first of all. */
export const asked = computed(() => {
  const all = collections.value ?? [];
  const found = chosen.value.flatMap((name) => all.filter((each) => each.name === name));
  return found.length ? found : all.slice(0, 1);
});
/** The first of them. */
export const collection = computed(() => asked.value[0] ?? null);

/** @param {string[]} names */
export function chooseCollections(names) {
  localStorage.setItem(KEY, names.join("/"));
  chosen.value = names;
}

/** Load the user, the sign-in methods and the collections. If the user must sign in first, wait for it. */
export async function begin() {
  const ways = get("/session").then((found) => {
    waysIn.value = found;
  });
  const [who] = await Promise.all([get("/me"), readCollections(), ways]);
  const asked = sessionStorage.getItem(ASKED);
  if (asked) window.location.hash = asked;
  sessionStorage.removeItem(ASKED);
  me.value = who;
}

/** Reload the page if another user has signed in, in another tab. */
export async function checkWho() {
  if (document.hidden || !waysIn.value?.needed || !me.value || signInNeeded.value) return;
  const { name } = await get("/me");
  if (name !== me.value.name) beginAnew();
}

/**
 * Sign in, and resume the requests that wait. If the user has changed, reload the page.
 * @param {Record<string, unknown>} credentials name and password
 */
export async function signIn(credentials) {
  const { name } = await post("/session", credentials);
  if (me.value && me.value.name !== name) beginAnew();
  else signInNeeded.value = 0;
}

/** Store the current place while a provider signs the user in. */
export function keepPlace() {
  sessionStorage.setItem(ASKED, window.location.hash);
}

/** Sign out, and reload the page. */
export async function signOut() {
  await remove("/session");
  window.location.hash = "";
  beginAnew();
}

/** Reload the page and discard what was typed, because the next user may be another person. */
function beginAnew() {
  sessionStorage.clear();
  window.location.reload();
}

/** Read the collections again after one was created, changed or deleted. */
export async function readCollections() {
  collections.value = await getAll("/collections");
}

effect(() => {
  const { path } = place.value;
  if (path[0] === "library" && path[1] && !chosen.value.includes(path[1])) chooseCollections([path[1]]);
});
