/** All collections as cards, and a form for a new one. */
import { html } from "../core/html.js";
import { link, navigate } from "../core/route.js";
import { formatBytes, labelFor, t } from "../core/texts.js";
import { Form, openForm } from "../shell/form.js";
import { mayCreateCollection, newCollectionForm } from "./new_collection.js";

/** @param {{ collections: Collection[] }} props */
export function Collections({ collections }) {
  const mayCreate = mayCreateCollection();
  const isFirst = collections.length === 0;
  const form = newCollectionForm((name) => navigate(["library", name]));
  return html`<div class="screen stack">
    <div class="row"><h1 class="grow">${t("nav_library")}</h1>
      ${mayCreate && !isFirst && html`<button class="primary" onClick=${() => openForm(form)}>${t("library_new")}</button>`}</div>
    ${isFirst && html`<p>${t(mayCreate ? "library_first" : "welcome_ask_admin")}</p>`}
    ${mayCreate && isFirst && html`<${Form} isCard ...${form}>${form.fields}<//>`}
    <ul class="plain cards">${collections.map(
      (each) => html`<li key=${each.name} class="card stack">
        <h2><a href=${link(["library", each.name])}>${each.name}</a></h2>
        ${each.description && html`<p>${each.description}</p>`}
        <${Size} collection=${each} />
      </li>`,
    )}</ul>
  </div>`;
}

/** Show the size of a collection, and the user's role in it. @param {{ collection: Collection }} props */
export function Size({ collection: { documents, chunks, bytes, role } }) {
  const sizes = documents > 0 && [t("library_passages", { n: chunks }), formatBytes(bytes)];
  return html`<p class="small soft grow">
    ${[t("library_documents", { n: documents })].concat(sizes || []).join(" · ")} <span class="badge">${labelFor("role", role)}</span>
  </p>`;
}
