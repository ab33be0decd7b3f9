/** The user's tokens, which programs send instead of the password. */
import { post, remove } from "../core/api.js";
import { html, useState, useVersion } from "../core/html.js";
import { formatDate, t } from "../core/texts.js";
import { Field, Form, openConfirmation } from "../shell/form.js";
import { PagedList, Row } from "../shell/list.js";
import { CopyField } from "./copy_field.js";

export function Tokens() {
  const [version, again] = useVersion();
  const [made, setMade] = useState({ name: "", token: "" });
  /** @param {FormValues} given */
  const make = async ({ name, role, days }) => {
    setMade(await post("/tokens", { name, role, days: Number(days) || null }));
    again();
  };
  return html`
    <${Form} isCard action=${t("token_make")} act=${make}>
      <h2>${t("token_make")}</h2>
      <p class="soft">${t("token_use")}</p>
      <${Field} label=${t("token_name")} name="name" required maxlength="100" />
      <${Field} label=${t("role")} name="role" options=${["reader", "writer", "admin"].map((role) => [role, t(/** @type {"reader"} */ (role))])} />
      <${Field} label=${t("token_expires")} name="days" options=${[...[30, 90, 365].map((n) => [n, t("days", { n })]), ["", t("never")]]} />
    <//>
    ${made.token && html`<${CopyField} label=${t("token_made", made)} secret=${made.token} />`}
    <${TokenList} path="/tokens" version=${version} label=${t("tokens")} empty=${t("tokens_none")} />
  `;
}

/**
 * Show the tokens at a path, each with a button to revoke it.
 * @param {{ path: string, version?: number, label: string, empty: string }} given
 */
export function TokenList({ path, version = 0, label, empty }) {
  const [revoked, again] = useVersion();
  /** @param {{ id: string, name: string }} token */
  const revoke = ({ id, name }) =>
    openConfirmation({
      title: t("token_revoke_title", { name }),
      sure: t("token_revoke_sure"),
      action: t("token_revoke"),
      act: () => remove(`${path}/${id}`).then(again),
    });
  /** @param {any} token */
  const row = (token) => html`<${Row}
    title=${html`<span>${token.name} <span class="badge">${t(/** @type {"reader"} */ (token.role))}</span></span>`}
    soft=${[
      token.expires ? t("token_until", { date: formatDate(token.expires) }) : t("token_for_ever"),
      token.used ? t("token_used", { date: formatDate(token.used) }) : t("token_unused"),
    ].join(
      " · ",
    )}><button class="quiet" aria-label=${t("token_revoke_of", token)} onClick=${() => revoke(token)}>${t("token_revoke")}</button><//>`;
  return html`<${PagedList} path=${path} version=${version + revoked} label=${label} empty=${empty} row=${row} />`;
}
