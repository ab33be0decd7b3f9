/** The members of a collection and their roles. */
import { collectionPath, put, remove } from "../core/api.js";
import { html, useVersion } from "../core/html.js";
import { labelFor, t } from "../core/texts.js";
import { Field, Form, Select } from "../shell/form.js";
import { PagedList, Row } from "../shell/list.js";
import { notify } from "../shell/notices.js";
import { Page } from "./screen.js";

/** @param {{ collection: Collection }} props */
export function Members({ collection }) {
  const [version, reload] = useVersion();
  const path = `${collectionPath(collection.name)}/members`;
  /** @param {Role} role @returns {[Role, string]} */
  const option = (role) => [role, labelFor("role", role)];
  const options = collection.roles.map(option);
  /** @param {string} name */
  const memberPath = (name) => `${path}/${encodeURIComponent(name)}`;
  /** @param {string} name @param {string} role */
  const setRole = (name, role) => put(memberPath(name), { role });
  /** Show the stored state after a change, and after one that failed. @param {Promise<unknown>} request */
  const change = (request) => request.catch(notify).then(reload);
  /** @param {{ name: string, role: string }} member */
  const renderRow = ({ name, role }) =>
    html`<${Row} title=${name}>${
      collection.roles.includes(role)
        ? html`<${Select} aria-label=${t("library_role_of", { name })} value=${role} options=${options} onChoose=${(/** @type {string} */ chosen) => change(setRole(name, chosen))} />
    <button class="quiet" aria-label=${t("remove_of", { name })} onClick=${() => change(remove(memberPath(name)))}>${t("remove")}</button>`
        : html`<span class="badge">${labelFor("role", role)}</span>`
    }<//>`;
  return html`<${Page} title=${t("library_members")} back=${collection.name}>
    <p class="soft">${t("library_members_intro")}</p>
    <${Form} isCard action=${t("library_member_add")} onSubmit=${(/** @type {any} */ { name, role }) => setRole(name.trim(), role).then(reload)} notFound="library_member_unknown">
      <${Field} label=${t("library_member_name")} name="name" required maxlength="100" />
      <${Field} label=${t("role")} name="role" options=${options} />
    <//>
    <${PagedList} path=${path} version=${version} label=${t("library_members")} empty=${t("library_members_none")} row=${renderRow} />
  <//>`;
}
