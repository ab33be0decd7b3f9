/**
 * The scope of the next questions: collections, and in them all documents, or those with a name, below a folder, or
 * that fulfil a condition.
 */
import { post } from "../core/api.js";
import { computed, html, signal, useSignal } from "../core/html.js";
import { documentLabel } from "../core/places.js";
import { chooseCollections, selectedCollections } from "../core/session.js";
import { t } from "../core/texts.js";
import { ServerMessage } from "../shell/notices.js";

const MAX_SHOWN = 3;
// Limits of the server: names of documents, names of folders, and collections in one question.
export const MAX_NAMES = 100;
export const MAX_COLLECTIONS = 8;
/** @type {Scope} */
export const FULL_SCOPE = { documents: [], folders: [], where: "" };

/** The chosen scope. It is valid for the collections whose names, joined, are `collectionsKey`. */
const chosenScope = signal({ collectionsKey: "", only: FULL_SCOPE });
/** Why the server cannot use the condition; "" if it can. */
export const conditionProblem = signal("");
const collectionNames = computed(() => selectedCollections.value.map(({ name }) => name));

/** The scope in the selected collections. @type {{ readonly value: Scope }} */
export const scope = computed(() =>
  chosenScope.value.collectionsKey === collectionNames.value.join("/") ? chosenScope.value.only : FULL_SCOPE,
);

/**
 * Set the scope of the next questions; without arguments, to everything in the same collections.
 * @param {Partial<Scope>} [part] @param {string[]} [collections] by default the current ones
 */
export function setScope(part = {}, collections) {
  if (collections) chooseCollections(collections);
  chosenScope.value = {
    collectionsKey: (collections ?? collectionNames.value).join("/"),
    only: { ...FULL_SCOPE, ...part },
  };
  conditionProblem.value = "";
}

/**
 * Ask these collections from now on. In those that were asked before, the documents and folders stay selected.
 * The scope of several collections names "handbook/rules.md", that of one collection "rules.md".
 * @param {string[]} collections
 */
export function changeCollections(collections) {
  const before = collectionNames.value;
  const fullName = (/** @type {string} */ name) => (before.length > 1 ? name : `${before[0]}/${name}`);
  const isKept = (/** @type {string} */ name) =>
    collections.some((each) => `${name}/`.startsWith(`${each}/`));
  const documents = scope.value.documents.map(fullName).filter(isKept);
  const folders = scope.value.folders.map(fullName).filter(isKept);
  const added =
    documents.length || folders.length ? collections.filter((each) => !before.includes(each)) : [];
  const part = { documents, folders: [...folders, ...added], where: scope.value.where };
  if (collections.length > 1) return setScope(part, collections);
  const localName = (/** @type {string} */ name) => name.slice(collections[0].length + 1);
  const isWhole = part.folders.includes(collections[0]);
  setScope(
    isWhole
      ? { where: part.where }
      : { ...part, documents: documents.map(localName), folders: part.folders.map(localName) },
    collections,
  );
}

/**
 * Return the number of documents in a scope, or why its condition cannot be used.
 * @param {string[]} collections @param {Scope} part @returns {Promise<{ documents: number, problem: string | null }>}
 */
export const checkScope = (collections, part) => post("/selection", { collections, only: part });

/**
 * Show the scope, unless it is everything in one collection, and a button to ask everything.
 * @param {{ problem: string }} props why its condition cannot be used
 */
export function ScopeLine({ problem }) {
  const part = useSignal(scope);
  const words = describeScope(useSignal(collectionNames), part);
  const isFull = !part.documents.length && !part.folders.length && !part.where;
  return (
    words &&
    html`<p class="small soft">${words} ${!isFull && html`<button type="button" class="link" onClick=${() => setScope()}>${t("only_all")}</button>`} ${problem && html`<${ServerMessage} class="bad" message=${problem} />`}</p>`
  );
}

/** Return a scope in words; "" for everything in one collection. @param {string[]} collections @param {Scope} part */
export function describeScope(collections, { documents, folders, where }) {
  const all = [
    ...folders.map((name) => `${name}/`),
    ...documents.map((name) => documentLabel(collections, name)),
  ];
  const [shownNames, hiddenCount] = [all.slice(0, MAX_SHOWN).join(", "), all.length - MAX_SHOWN];
  return [
    collections.length > 1 && t("only_in", { names: collections.join(", ") }),
    all.length > 0 &&
      t(hiddenCount > 0 ? "only_these_and" : "only_these", { names: shownNames, n: hiddenCount }),
    where && t("only_where", { where }),
  ]
    .filter(Boolean)
    .join(" · ");
}
