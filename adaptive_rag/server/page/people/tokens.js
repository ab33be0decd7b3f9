/** The user's tokens, which programs send instead of the password. */
import { post, remove } from "../core/api.js";
import { html, useSignal, useState, useVersion } from "../core/html.js";
import { me } from "../core/session.js";
import { formatDate, labelFor, t } from "../core/texts.js";
import { openConfirmation } from "../shell/confirmation.js";
import { Field, Form } from "../shell/form.js";
import { PagedList, Row } from "../shell/list.js";
import { CopyField } from "./copy_field.js";

export function Tokens() {
  const [version, reload] = useVersion();
  const [newToken, setNewToken] = useState({ name: "", token: "" });
  const roles = useSignal(me)?.roles ?? [];
  /** @param {FormValues} given */
  const createToken = async ({ name, role, days }) => {
    setNewToken(await post("/tokens", { name, role, days: Number(days) || null }));
    reload();
  };
  return html`
    <${Form} isCard action=${t("token_make")} onSubmit=${createToken}>
      <h2>${t("token_make")}</h2>
      <p class="soft">${t("token_use")}</p>
      <${Field} label=${t("token_name")} name="name" required maxlength="100" />
      <${Field} label=${t("role")} name="role" options=${roles.map((role) => [role, labelFor("role", role)])} />
      <${Field} label=${t("token_expires")} name="days" options=${[...[30, 90, 365].map((n) => [n, t("days", { n })]), ["", t("never")]]} />
    <//>
    ${newToken.token && html`<${CopyField} label=${t("token_made", newToken)} text=${newToken.token} />`}
    <${TokenList} path="/tokens" version=${version} label=${labelFor("tab", "tokens")} empty=${t("tokens_none")} />
  `;
}

/**
 * Show the tokens at a path, each with a button to revoke it.
 * @param {{ path: string, version?: number, label: string, empty: string }} given
 */
export function TokenList({ path, version = 0, label, empty }) {
  const [revoked, reload] = useVersion();
  /** @param {{ id: string, name: string }} token */
  const revoke = ({ id, name }) =>
    openConfirmation({
      title: t("token_revoke_title", { name }),
      question: t("token_revoke_sure"),
      action: t("token_revoke"),
      onSubmit: () => remove(`${path}/${id}`).then(reload),
    });
  /** @param {any} token */
  const renderRow = (token) => html`<${Row}
    title=${html`<span>${token.name} <span class="badge">${labelFor("role", token.role)}</span></span>`}
    details=${[
      token.expires ? t("token_until", { date: formatDate(token.expires) }) : t("token_for_ever"),
      token.used ? t("token_used", { date: formatDate(token.used) }) : t("token_unused"),
    ].join(
      " · ",
    )}><button class="quiet" aria-label=${t("token_revoke_of", token)} onClick=${() => revoke(token)}>${t("token_revoke")}</button><//>`;
  return html`<${PagedList} path=${path} version=${version + revoked} label=${label} empty=${empty} row=${renderRow} />`;
}
