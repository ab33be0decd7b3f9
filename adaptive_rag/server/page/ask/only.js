/** What the next questions ask: collections, and in them all documents, or some by name, folders and a condition. */
import { post } from "../core/api.js";
import { computed, html, signal, useSignal } from "../core/html.js";
import { nameIn } from "../core/places.js";
import { asked, chooseCollections } from "../core/session.js";
import { t } from "../core/texts.js";

const SHOWN = 3;
/** The most names that the server takes. */
export const MOST_NAMES = 100;
export const MOST_COLLECTIONS = 8;
/** @type {Only} */
export const EVERYTHING = { documents: [], folders: [], where: "" };

const chosen = signal({ of: "", only: EVERYTHING });
/** Why the server cannot use the condition; "" if it can. */
export const wrong = signal("");
const names = computed(() => asked.value.map(({ name }) => name));

/** What is asked of the collections. @type {{ readonly value: Only }} */
export const only = computed(() =>
  chosen.value.of === names.value.join("/") ? chosen.value.only : EVERYTHING,
);

/** Ask only this from now on; by default everything in the same collections. @param {Partial<Only>} [part] @param {string[]} [of] */
export function askOnly(part = {}, of) {
  if (of) chooseCollections(of);
  chosen.value = { of: (of ?? names.value).join("/"), only: { ...EVERYTHING, ...part } };
  wrong.value = "";
}

/** Ask these collections, and in those that stay what was asked before. @param {string[]} of */
export function askIn(of) {
  const before = names.value;
  const full = (/** @type {string} */ name) => (before.length > 1 ? name : `${before[0]}/${name}`);
  const stays = (/** @type {string} */ name) => of.some((each) => `${name}/`.startsWith(`${each}/`));
  const documents = only.value.documents.map(full).filter(stays);
  const folders = only.value.folders.map(full).filter(stays);
  const added = documents.length || folders.length ? of.filter((each) => !before.includes(each)) : [];
  const part = { documents, folders: [...folders, ...added], where: only.value.where };
  if (of.length > 1) return askOnly(part, of);
  const own = (/** @type {string} */ name) => name.slice(of[0].length + 1);
  const isWhole = part.folders.includes(of[0]);
  askOnly(
    isWhole
      ? { where: part.where }
      : { ...part, documents: documents.map(own), folders: part.folders.map(own) },
    of,
  );
}

/**
 * Return how many documents this holds, or why its condition cannot be used.
 * @param {string[]} collections @param {Only} part @returns {Promise<{ documents: number, problem: string | null }>}
 */
export const measure = (collections, part) => post("/selection", { collections, only: part });

/** Show what is asked, if not everything in one collection, and a button to ask everything. */
export function OnlyThese() {
  const part = useSignal(only);
  const words = wordsOf(useSignal(names), part);
  const isAll = !part.documents.length && !part.folders.length && !part.where;
  return (
    words &&
    html`<p class="small soft">${words} ${!isAll && html`<button type="button" class="link" onClick=${() => askOnly()}>${t("only_all")}</button>`}</p>`
  );
}

/** Return in words what is asked; "" for everything in one collection. @param {string[]} collections @param {Only} part */
export function wordsOf(collections, { documents, folders, where }) {
  const all = [...folders.map((name) => `${name}/`), ...documents.map((name) => nameIn(collections, name))];
  const [shown, n] = [all.slice(0, SHOWN).join(", "), all.length - SHOWN];
  return [
    collections.length > 1 && t("only_in", { names: collections.join(", ") }),
    all.length > 0 && t(n > 0 ? "only_these_and" : "only_these", { names: shown, n }),
    where && t("only_where", { where }),
  ]
    .filter(Boolean)
    .join(" · ");
}
