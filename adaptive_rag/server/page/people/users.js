/** The users of the server, for its admins. */
import { patch, post, remove } from "../core/api.js";
import { html, useSignal, useState, useVersion } from "../core/html.js";
import { me } from "../core/session.js";
import { formatDate, t } from "../core/texts.js";
import { Field, Form, openConfirmation } from "../shell/form.js";
import { PagedList, Row } from "../shell/list.js";
import { notify } from "../shell/notices.js";
import { CopyField } from "./copy_field.js";
import { TokenList } from "./tokens.js";

// Without characters that look alike. 20 characters out of 32 are 100 random bits.
const PASSWORD_LETTERS = "abcdefghijkmnpqrstuvwxyz23456789";
const makePassword = () =>
  Array.from(crypto.getRandomValues(new Uint8Array(20)), (byte) => PASSWORD_LETTERS[byte % 32]).join("");

export function Users() {
  const [version, again] = useVersion();
  const [made, setMade] = useState({ name: "", password: "" });
  const myName = useSignal(me)?.name;
  const [shown, setShown] = useState("");
  /** @param {string} name @param {(password: string) => Promise<unknown>} keep */
  const give = async (name, keep) => {
    const password = makePassword();
    await keep(password);
    setMade({ name, password });
  };
  /** @param {FormValues} given */
  const add = ({ name, is_admin }) =>
    give(name, (password) => post("/users", { name, password, is_admin: is_admin === "on" })).then(again);
  /** @param {any} user */
  const row = ({ name, is_admin, is_disabled, issuer, created }) => {
    const path = `/users/${encodeURIComponent(name)}`;
    const drop = () =>
      openConfirmation({
        title: t("delete_title", { name }),
        sure: t("user_delete_sure"),
        action: t("delete"),
        act: () => remove(path).then(again),
      });
    /** @param {TextKey} label @param {object} changed */
    const button = (label, changed) =>
      html`<button class="quiet" onClick=${() => patch(path, changed).then(again, notify)}>${t(label)}</button>`;
    return html`<${Row} soft=${issuer ?? t("share_since", { date: formatDate(created) })}
      title=${html`<span>${name} ${is_admin && html`<span class="badge">${t("server_admin")}</span>`} ${is_disabled && html`<span class="badge">${t("user_disabled")}</span>`}</span>`}>
      ${
        name !== myName &&
        html`<div class="row" role="group" aria-label=${name}>
          ${button(is_disabled ? "user_enable" : "user_disable", { is_disabled: !is_disabled })}
          ${button(is_admin ? "user_no_admin" : "user_make_admin", { is_admin: !is_admin })}
          ${!issuer && html`<button class="quiet" onClick=${() => give(name, (password) => patch(path, { password })).catch(notify)}>${t("user_new_password")}</button>`}
          <button class="quiet" aria-expanded=${shown === name} onClick=${() => setShown(shown === name ? "" : name)}>${t("tokens")}</button>
          <button class="quiet danger" onClick=${drop}>${t("delete")}</button>
        </div>`
      }
    <//>`;
  };
  return html`
    <${Form} isCard action=${t("user_add")} act=${add}>
      <h2>${t("user_add")}</h2>
      <p class="soft">${t("user_rule")}</p>
      <${Field} label=${t("name")} name="name" required maxlength="100" pattern=${"[a-z0-9][a-z0-9_.@\\-]*"} title=${t("user_name_rule")} autocapitalize="none" />
      <label class="row"><input name="is_admin" type="checkbox" /> ${t("server_admin")}</label>
    <//>
    ${made.password && html`<${CopyField} label=${t("user_password", made)} secret=${made.password} />`}
    <${PagedList} path="/users" version=${version} label=${t("users")} empty="" row=${row} />
    ${shown && html`<h2>${t("tokens_of", { name: shown })}</h2><${TokenList} key=${shown} path=${`/users/${encodeURIComponent(shown)}/tokens`} label=${t("tokens_of", { name: shown })} empty=${t("tokens_none_of", { name: shown })} />`}
  `;
}
