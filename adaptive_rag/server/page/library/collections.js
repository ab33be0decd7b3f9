/** All collections as cards, and the making of a new one. */
import { post } from "../core/api.js";
import { html } from "../core/html.js";
import { go, link } from "../core/route.js";
import { me, readCollections } from "../core/session.js";
import { formatBytes, t } from "../core/texts.js";
import { Field, Form, openForm } from "../shell/form.js";

/** @param {{ all: Collection[] }} props */
export function Collections({ all }) {
  const mayMake = me.value?.is_admin && me.value.role === "admin";
  const isFirst = all.length === 0;
  const form = {
    title: t("library_new"),
    action: t("library_make"),
    /** @param {Given} given */
    act: async (given) => {
      await post("/collections", given);
      await readCollections();
      go(["library", given.name]);
    },
    fields: html`
      <${Field} label=${t("library_name")} name="name" required maxlength="100" pattern=${"[A-Za-z0-9][A-Za-z0-9_.\\-]*"} title=${t("library_name_rule")} aria-describedby="name-rule" />
      <p id="name-rule" class="small soft">${t("library_name_rule")}</p>
      <${Field} label=${t("library_description")} name="description" rows="2" maxlength="2000" />`,
  };
  return html`<div class="screen stack">
    <div class="row"><h1 class="grow">${t("nav_library")}</h1>
      ${mayMake && !isFirst && html`<button class="primary" onClick=${() => openForm(form)}>${t("library_new")}</button>`}</div>
    ${isFirst && html`<p>${t(mayMake ? "library_first" : "welcome_ask_admin")}</p>`}
    ${mayMake && isFirst && html`<${Form} isCard ...${form}>${form.fields}<//>`}
    <ul class="plain cards">${all.map(
      (each) => html`<li key=${each.name} class="card stack">
        <h2><a href=${link(["library", each.name])}>${each.name}</a></h2>
        ${each.description && html`<p>${each.description}</p>`}
        <${Size} collection=${each} />
      </li>`,
    )}</ul>
  </div>`;
}

/** @param {{ collection: Collection }} props how much a collection holds, and what you are in it */
export function Size({ collection: { documents, chunks, bytes, role } }) {
  const sizes = documents > 0 && [t("library_passages", { n: chunks }), formatBytes(bytes)];
  return html`<p class="small soft grow">
    ${[t("library_documents", { n: documents })].concat(sizes || []).join(" · ")} <span class="badge">${t(`role_${role}`)}</span>
  </p>`;
}
