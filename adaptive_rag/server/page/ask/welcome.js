/** Before the first question: an introduction and example questions, or what is still missing. */
import { collectionPath, get, getPage } from "../core/api.js";
import { html, useSignal } from "../core/html.js";
import { link } from "../core/route.js";
import { currentCollection, me, selectedCollections } from "../core/session.js";
import { labelFor, t } from "../core/texts.js";
import { useLoaded } from "../shell/loaded.js";
import { useLaneStyle } from "../shell/strategies.js";
import { ask } from "./conversation.js";

export function Welcome() {
  const collection = useSignal(currentCollection);
  const names = useSignal(selectedCollections).map(({ name }) => name);
  return html`<div class="welcome stack">
    <h2>${t("welcome_title")}</h2>
    <p>${t("welcome")}</p>
    <${NoModelNote} />
    ${collection?.documents ? html`<${Examples} collection=${collection} names=${names} />` : html`<${NextStep} collection=${collection} />`}
  </div>`;
}

/** Explain that answers are quotations while there is no chat model. Admins get a link to set one. */
function NoModelNote() {
  const user = useSignal(me);
  if (user?.has_model !== false) return null;
  return html`<p class="soft">${t("welcome_quotes")}${" "}
    ${user.is_admin && html`<a href=${link(["people", "model"])}>${t("welcome_to_model")}</a>`}</p>`;
}

/** Show what is missing before questions can be asked. @param {{ collection: Collection | null }} props */
function NextStep({ collection }) {
  const isAdmin = useSignal(me)?.is_admin;
  const mayAdd = collection ? collection.may.includes("write") : isAdmin;
  const inCollection = mayAdd ? "welcome_drop" : "welcome_empty";
  const text = collection ? inCollection : mayAdd ? "welcome_make" : "welcome_ask_admin";
  return html`<p class="card">
    ${t(text, { name: collection?.name ?? "" })}${" "}
    ${mayAdd && html`<a class="button" href=${link(collection ? ["library", collection.name] : ["library"])}>${t("welcome_to_library")}</a>`}
  </p>`;
}

/**
 * Return questions about a collection, or one of its documents. They are optional, so an error is ignored.
 * @param {boolean} isWanted @param {string} collection @param {string} source "" for all @param {number} [version]
 * @returns {string[]}
 */
export function useSuggestions(isWanted, collection, source, version) {
  const path = `${collectionPath(collection)}/questions${source && `?source=${encodeURIComponent(source)}`}`;
  const read = async () => (isWanted ? get(path).catch(() => []) : []);
  return useLoaded(read, [isWanted, path, version]).value ?? [];
}

/** @param {{ collection: Collection, names: string[] }} props `names` of all collections that are asked */
function Examples({ collection, names }) {
  const isDescribed = collection.examples.length > 0;
  const suggested = useSuggestions(!isDescribed, collection.name, "", collection.documents);
  const examples = isDescribed ? collection.examples : suggested.map((question) => ({ question }));
  return html`
    <p class="soft"><strong>${collection.name}</strong> · ${collection.description || html`<${DocumentCount} collection=${collection} />`}</p>
    ${examples.length > 0 && html`<h3 class="soft small" id="examples">${t("welcome_examples")}</h3>`}
    <div class="examples" role="group" aria-labelledby="examples">
      ${examples.map((each) => html`<${Example} names=${names} ...${each} />`)}
    </div>
  `;
}

/** Show how many documents are searched, and how many are not read, or not yet. @param {{ collection: Collection }} props */
function DocumentCount({ collection: { name, documents, may } }) {
  const searched = useLoaded(
    async () =>
      may.includes("read")
        ? (await getPage(`${collectionPath(name)}/documents?state=indexed`, 1)).total
        : documents,
    [name, documents],
  ).value;
  if (searched === null) return null;
  const others = documents - searched;
  return [t("library_documents", { n: searched }), others > 0 && t("welcome_not_searched", { n: others })]
    .filter(Boolean)
    .join(" · ");
}

/** @param {{ names: string[], question: string, user_context?: string, type?: string | null }} props */
function Example({ names, question, user_context, type }) {
  const laneStyle = useLaneStyle();
  return html`<button onClick=${() => ask(names, question, { userContext: user_context })}>
    ${type && html`<strong class="small" style=${{ ...laneStyle(type), color: "var(--lane)" }}>${labelFor("strategy", type)}</strong>`}
    <span>${question}</span>
    ${user_context && html`<span class="soft small">${user_context}</span>`}
  </button>`;
}
