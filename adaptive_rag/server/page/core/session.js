/** The current user, and the collections that they may read. */
import { API, get, getAll, post, remove, signInNeeded } from "./api.js";
import { computed, effect, signal } from "./html.js";
import { currentRoute } from "./route.js";

/** @type {{ value: Me | null }} */
export const me = signal(null);
/** @type {{ value: SignInMethods | null }} */
export const signInMethods = signal(null);
/** @type {{ value: Collection[] }} */
export const collections = signal([]);

const COLLECTIONS_KEY = "adaptive-rag.collection";
/** The URL to return to after the sign-in at a provider. */
const URL_KEY = "adaptive-rag.asked";
const chosenNames = signal((localStorage.getItem(COLLECTIONS_KEY) ?? "").split("/"));

/** Return the collections in which the user may do an action. @param {Action} action @returns {Collection[]} */
export const collectionsWith = (action) => collections.value.filter(({ may }) => may.includes(action));
/** The collections that the user may ask. */
export const askableCollections = computed(() => collectionsWith("ask"));

/** The collections that are asked: those that the user chose, or else the first one. */
export const selectedCollections = computed(() => {
  const all = askableCollections.value;
  const found = chosenNames.value.flatMap((name) => all.filter((each) => each.name === name));
  return found.length ? found : all.slice(0, 1);
});
/** The first of the collections that are asked. The header shows this one. */
export const currentCollection = computed(() => selectedCollections.value[0] ?? null);

/** @param {string[]} names */
export function chooseCollections(names) {
  localStorage.setItem(COLLECTIONS_KEY, names.join("/"));
  chosenNames.value = names;
}

/** Load the user, the sign-in methods and the collections. If the user must sign in first, wait for it. */
export async function startSession() {
  const methods = get("/session").then((found) => {
    signInMethods.value = found;
  });
  const [user] = await Promise.all([get("/me"), readCollections(), methods]);
  const url = sessionStorage.getItem(URL_KEY);
  if (url) window.location.hash = url;
  sessionStorage.removeItem(URL_KEY);
  me.value = user;
}

/**
 * Read again what may have changed in another tab. If somebody has signed in there, resume the requests that wait; if it
 * is another user, reload the page.
 */
export async function refreshSession() {
  if (document.hidden || !(me.value || signInNeeded.value)) return;
  if (signInNeeded.value && !(await isSignedIn())) return;
  const user = await get("/me");
  if (me.value && user.name !== me.value.name) return clearAndReload();
  signInNeeded.value = 0;
  if (!me.value) return;
  me.value = user;
  await readCollections();
}

/** Return whether somebody is signed in, without waiting for it as `get` does. */
const isSignedIn = () =>
  fetch(`${API}/me`).then(
    ({ ok }) => ok,
    () => false,
  );

/**
 * Sign in, and resume the requests that wait. If the user has changed, reload the page.
 * @param {Record<string, unknown>} credentials name and password
 */
export async function signIn(credentials) {
  const { name } = await post("/session", credentials);
  if (me.value && me.value.name !== name) clearAndReload();
  else signInNeeded.value = 0;
}

/** Store the URL while a provider signs the user in. */
export function storeUrl() {
  sessionStorage.setItem(URL_KEY, window.location.hash);
}

/** Sign out, and reload the page. */
export async function signOut() {
  await remove("/session");
  window.location.hash = "";
  clearAndReload();
}

/** Reload the page and discard what was typed, because the next user may be another person. */
function clearAndReload() {
  sessionStorage.clear();
  window.location.reload();
}

/** Read the collections again after one was created, changed or deleted. */
export async function readCollections() {
  collections.value = await getAll("/collections");
}

// Opening a collection in the library selects it.
effect(() => {
  const { path } = currentRoute.value;
  if (path[0] === "library" && path[1] && !chosenNames.value.includes(path[1])) chooseCollections([path[1]]);
});
