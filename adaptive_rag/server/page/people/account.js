/** The user's account: name and roles, password, and profile. */
import { get, put, remove } from "../core/api.js";
import { html, useSignal } from "../core/html.js";
import { collections, me, signInMethods, signOut } from "../core/session.js";
import { t } from "../core/texts.js";
import { Field, Form } from "../shell/form.js";
import { Loading, useLoaded } from "../shell/loaded.js";
import { finishRemovals, notify } from "../shell/notices.js";

export function Account() {
  const needed = useSignal(signInMethods)?.needed;
  const hasPassword = useSignal(me)?.has_password;
  return html`<${needed ? UserCard : NoAccountCard} /><${Profile} />${needed && hasPassword && html`<${Password} />`}`;
}

function UserCard() {
  const { name, is_admin } = /** @type {Me} */ (useSignal(me));
  const roles = (useSignal(collections) ?? []).map((each) => `${each.name}: ${t(each.role)}`).join(" · ");
  return html`<section class="card row">
    <div class="grow"><h2>${name}</h2><p class="soft small">${is_admin ? t("server_admin") : roles || t("no_collections")}</p></div>
    <button onClick=${() => finishRemovals().then(signOut).catch(notify)}>${t("sign_out")}</button>
  </section>`;
}

function NoAccountCard() {
  return html`<section class="card stack">
    <h2>${t("alone_title")}</h2>
    <p>${t("alone")}</p>
    <pre tabindex="0"><code>adaptive-rag users add NAME --admin</code></pre>
  </section>`;
}

function Profile() {
  const kept = useLoaded(() => get("/me/profile"));
  /** @param {FormValues} given */
  const keep = async ({ profile }) => {
    const isKept = profile.trim() !== "";
    await (isKept ? put("/me/profile", { text: profile }) : remove("/me/profile"));
    kept.set({ text: profile });
    notify(t(isKept ? "profile_kept" : "profile_forgotten"));
  };
  return html`<${Form} isCard action=${t("save")} act=${keep}>
    <h2 id="profile">${t("profile_title")}</h2>
    <p class="soft" id="profile-use">${t("profile_use")}</p>
    <textarea class="whole" aria-labelledby="profile" aria-describedby="profile-use" name="profile" rows="3" maxlength="2000"
      placeholder=${t("profile_example")} disabled=${!kept.value} defaultValue=${kept.value?.text ?? ""}></textarea>
    ${!kept.value && html`<${Loading} of=${kept} />`}
  <//>`;
}

function Password() {
  /** @param {FormValues} given */
  const keep = ({ current, new: fresh, keep_tokens }) =>
    put("/me/password", { current, new: fresh, keep_tokens: keep_tokens === "on" }).then(() =>
      notify(t("password_changed")),
    );
  const each = { type: "password", required: true, maxlength: "200" };
  return html`<${Form} isCard action=${t("password_change")} act=${keep}>
    <h2>${t("password_change")}</h2>
    <p class="soft">${t("password_rule")}</p>
    <${Field} ...${each} label=${t("password_current")} name="current" autocomplete="current-password" />
    <${Field} ...${each} label=${t("password_new")} name="new" minlength="12" autocomplete="new-password" />
    <label class="row"><input name="keep_tokens" type="checkbox" /> ${t("password_keep_tokens")}</label>
  <//>`;
}
