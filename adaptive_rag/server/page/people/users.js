/** The users of the server, for its admins. */
import { patch, post, remove } from "../core/api.js";
import { html, useSignal, useState, useVersion } from "../core/html.js";
import { me } from "../core/session.js";
import { formatDate, labelFor, t } from "../core/texts.js";
import { isConfirmed, openConfirmation } from "../shell/confirmation.js";
import { Field, Form } from "../shell/form.js";
import { PagedList, Row } from "../shell/list.js";
import { notify } from "../shell/notices.js";
import { CopyField } from "./copy_field.js";
import { TokenList } from "./tokens.js";

// Without characters that look alike. 20 of 32 letters make 100 random bits.
const PASSWORD_LETTERS = "abcdefghijkmnpqrstuvwxyz23456789";
const makePassword = () =>
  Array.from(crypto.getRandomValues(new Uint8Array(20)), (byte) => PASSWORD_LETTERS[byte % 32]).join("");

export function Users() {
  const [version, reload] = useVersion();
  const [newUser, setNewUser] = useState({ name: "", password: "" });
  const myName = useSignal(me)?.name;
  const [tokenOwner, setTokenOwner] = useState("");
  /** Give a user a new password, and show it once. @param {string} name @param {(password: string) => Promise<unknown>} save */
  const setPassword = async (name, save) => {
    const password = makePassword();
    await save(password);
    setNewUser({ name, password });
  };
  /** @param {FormValues} given */
  const addUser = ({ name, is_admin }) =>
    setPassword(name, (password) => post("/users", { name, password, is_admin: is_admin === "on" })).then(
      reload,
    );
  /** @param {any} user */
  const renderRow = ({ name, is_admin, is_disabled, issuer, created }) => {
    const path = `/users/${encodeURIComponent(name)}`;
    const deleteUser = () =>
      openConfirmation({
        title: t("delete_title", { name }),
        question: t("user_delete_sure"),
        action: t("delete"),
        onSubmit: () => remove(path).then(reload),
      });
    const resetPassword = async () => {
      if (await isConfirmed(t("user_new_password"), t("user_password_sure", { name })))
        await setPassword(name, (password) => patch(path, { password }));
    };
    /** @param {string} label @param {object} changed */
    const button = (label, changed) =>
      html`<button class="quiet" onClick=${() => patch(path, changed).then(reload, notify)}>${t(label)}</button>`;
    return html`<${Row} details=${issuer ?? t("share_since", { date: formatDate(created) })}
      title=${html`<span>${name} ${is_admin && html`<span class="badge">${t("server_admin")}</span>`} ${is_disabled && html`<span class="badge">${t("user_disabled")}</span>`}</span>`}>
      ${
        name !== myName &&
        html`<div class="row" role="group" aria-label=${name}>
          ${button(is_disabled ? "user_enable" : "user_disable", { is_disabled: !is_disabled })}
          ${button(is_admin ? "user_no_admin" : "user_make_admin", { is_admin: !is_admin })}
          ${!issuer && html`<button class="quiet" onClick=${() => resetPassword().catch(notify)}>${t("user_new_password")}</button>`}
          <button class="quiet" aria-expanded=${tokenOwner === name} onClick=${() => setTokenOwner(tokenOwner === name ? "" : name)}>${labelFor("tab", "tokens")}</button>
          <button class="quiet danger" onClick=${deleteUser}>${t("delete")}</button>
        </div>`
      }
    <//>`;
  };
  return html`
    <${Form} isCard action=${t("user_add")} onSubmit=${addUser}>
      <h2>${t("user_add")}</h2>
      <p class="soft">${t("user_rule")}</p>
      <${Field} label=${t("name")} name="name" required maxlength="100" pattern=${"[a-z0-9][a-z0-9_.@\\-]*"} title=${t("user_name_rule")} autocapitalize="none" />
      <label class="row"><input name="is_admin" type="checkbox" /> ${t("server_admin")}</label>
    <//>
    ${newUser.password && html`<${CopyField} label=${t("user_password", newUser)} text=${newUser.password} />`}
    <${PagedList} path="/users" version=${version} label=${labelFor("tab", "users")} empty="" row=${renderRow} />
    ${tokenOwner && html`<h2>${t("tokens_of", { name: tokenOwner })}</h2><${TokenList} key=${tokenOwner} path=${`/users/${encodeURIComponent(tokenOwner)}/tokens`} label=${t("tokens_of", { name: tokenOwner })} empty=${t("tokens_none_of", { name: tokenOwner })} />`}
  `;
}
