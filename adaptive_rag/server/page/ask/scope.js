/** What the next questions ask: collections, and in them all documents, or some by name, folders and a condition. */
import { post } from "../core/api.js";
import { computed, html, signal, useSignal } from "../core/html.js";
import { documentLabel } from "../core/places.js";
import { chooseCollections, selectedCollections } from "../core/session.js";
import { t } from "../core/texts.js";

const MAX_SHOWN = 3;
/** The most names that the server takes. */
export const MAX_NAMES = 100;
export const MAX_COLLECTIONS = 8;
/** @type {Scope} */
export const FULL_SCOPE = { documents: [], folders: [], where: "" };

const chosenScope = signal({ of: "", only: FULL_SCOPE });
/** Why the server cannot use the condition; "" if it can. */
export const conditionProblem = signal("");
const collectionNames = computed(() => selectedCollections.value.map(({ name }) => name));

/** What is asked of the collections. @type {{ readonly value: Scope }} */
export const scope = computed(() =>
  chosenScope.value.of === collectionNames.value.join("/") ? chosenScope.value.only : FULL_SCOPE,
);

/** Ask only this from now on; by default everything in the same collections. @param {Partial<Scope>} [part] @param {string[]} [of] */
export function setScope(part = {}, of) {
  if (of) chooseCollections(of);
  chosenScope.value = { of: (of ?? collectionNames.value).join("/"), only: { ...FULL_SCOPE, ...part } };
  conditionProblem.value = "";
}

/** Ask these collections, and in those that stay what was asked before. @param {string[]} of */
export function changeCollections(of) {
  const before = collectionNames.value;
  const full = (/** @type {string} */ name) => (before.length > 1 ? name : `${before[0]}/${name}`);
  const stays = (/** @type {string} */ name) => of.some((each) => `${name}/`.startsWith(`${each}/`));
  const documents = scope.value.documents.map(full).filter(stays);
  const folders = scope.value.folders.map(full).filter(stays);
  const added = documents.length || folders.length ? of.filter((each) => !before.includes(each)) : [];
  const part = { documents, folders: [...folders, ...added], where: scope.value.where };
  if (of.length > 1) return setScope(part, of);
  const own = (/** @type {string} */ name) => name.slice(of[0].length + 1);
  const isWhole = part.folders.includes(of[0]);
  setScope(
    isWhole
      ? { where: part.where }
      : { ...part, documents: documents.map(own), folders: part.folders.map(own) },
    of,
  );
}

/**
 * Return how many documents this holds, or why its condition cannot be used.
 * @param {string[]} collections @param {Scope} part @returns {Promise<{ documents: number, problem: string | null }>}
 */
export const checkScope = (collections, part) => post("/selection", { collections, only: part });

/** Show what is asked, if not everything in one collection, and a button to ask everything. */
export function ScopeLine() {
  const part = useSignal(scope);
  const words = describeScope(useSignal(collectionNames), part);
  const isAll = !part.documents.length && !part.folders.length && !part.where;
  return (
    words &&
    html`<p class="small soft">${words} ${!isAll && html`<button type="button" class="link" onClick=${() => setScope()}>${t("only_all")}</button>`}</p>`
  );
}

/** Return in words what is asked; "" for everything in one collection. @param {string[]} collections @param {Scope} part */
export function describeScope(collections, { documents, folders, where }) {
  const all = [
    ...folders.map((name) => `${name}/`),
    ...documents.map((name) => documentLabel(collections, name)),
  ];
  const [shown, n] = [all.slice(0, MAX_SHOWN).join(", "), all.length - MAX_SHOWN];
  return [
    collections.length > 1 && t("only_in", { names: collections.join(", ") }),
    all.length > 0 && t(n > 0 ? "only_these_and" : "only_these", { names: shown, n }),
    where && t("only_where", { where }),
  ]
    .filter(Boolean)
    .join(" · ");
}
