/** Before the first question: an introduction and example questions, or what is still missing. */
import { collectionPath, get } from "../core/api.js";
import { html, useEffect, useSignal, useState } from "../core/html.js";
import { currentRoute, link } from "../core/route.js";
import { collections, currentCollection, me, selectedCollections } from "../core/session.js";
import { t } from "../core/texts.js";
import { ask } from "./conversation.js";

export function Welcome() {
  const isRead = useSignal(collections) !== null;
  const searched = useSignal(currentCollection);
  const names = useSignal(selectedCollections).map(({ name }) => name);
  if (useSignal(currentRoute).query.thread || !isRead) return null;
  return html`<div class="welcome stack">
    <h2>${t("welcome_title")}</h2>
    <p>${t("welcome")}</p>
    <${NoModelNote} />
    ${searched?.documents ? html`<${Examples} of=${searched} names=${names} />` : html`<${NextStep} of=${searched} />`}
  </div>`;
}

/** Without a chat model, say what answers are; an admin can set one. */
function NoModelNote() {
  const who = useSignal(me);
  if (who?.has_model !== false) return null;
  return html`<p class="soft">${t("welcome_quotes")}${" "}
    ${who.is_admin && html`<a href=${link(["people", "model"])}>${t("welcome_to_model")}</a>`}</p>`;
}

/** @param {{ of: Collection | null }} props */
function NextStep({ of }) {
  const isAdmin = useSignal(me)?.is_admin;
  const mayAdd = of ? of.may.includes("write") : isAdmin;
  const inCollection = mayAdd ? "welcome_drop" : "welcome_empty";
  const what = of ? inCollection : mayAdd ? "welcome_make" : "welcome_ask_admin";
  return html`<p class="card">
    ${t(what, { name: of?.name ?? "" })}${" "}
    ${mayAdd && html`<a class="button" href=${link(of ? ["library", of.name] : ["library"])}>${t("welcome_to_library")}</a>`}
  </p>`;
}

/** @param {{ of: Collection, names: string[] }} props `names` of all that are asked */
function Examples({ of, names }) {
  const [suggested, setSuggested] = useState(/** @type {string[]} */ ([]));
  useEffect(() => {
    if (of.examples.length > 0) return;
    // The suggestions are optional, so an error is ignored.
    get(`${collectionPath(of.name)}/questions`).then(setSuggested, () => setSuggested([]));
  }, [of.name, of.documents]);
  const examples = of.examples.length > 0 ? of.examples : suggested.map((question) => ({ question }));
  return html`
    <p class="soft"><strong>${of.name}</strong> · ${of.description || t("library_documents", { n: of.documents })}</p>
    ${examples.length > 0 && html`<h3 class="soft small" id="examples">${t("welcome_examples")}</h3>`}
    <div class="examples" role="group" aria-labelledby="examples">
      ${examples.map((each) => html`<${Example} of=${names} ...${each} />`)}
    </div>
  `;
}

/** @param {{ of: string[], question: string, user_context?: string, type?: string | null }} props */
function Example({ of, question, user_context, type }) {
  return html`<button onClick=${() => ask(of, question, { userContext: user_context })}>
    ${type && html`<strong class="small" style=${{ color: `var(--${type})` }}>${t(/** @type {TextKey} */ (type))}</strong>`}
    <span>${question}</span>
    ${user_context && html`<span class="soft small">${user_context}</span>`}
  </button>`;
}
