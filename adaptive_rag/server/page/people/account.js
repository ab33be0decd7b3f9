/** The user's account: name and roles, password, and profile. */
import { get, put, remove } from "../core/api.js";
import { html, useSignal } from "../core/html.js";
import { collections, me, signInMethods, signOut } from "../core/session.js";
import { labelFor, t } from "../core/texts.js";
import { Field, Form } from "../shell/form.js";
import { Loading, useLoaded } from "../shell/loaded.js";
import { finishRemovals, notify } from "../shell/notices.js";

export function Account() {
  const hasAccounts = useSignal(signInMethods)?.needed;
  const hasPassword = useSignal(me)?.has_password;
  return html`<${hasAccounts ? UserCard : NoAccountCard} /><${Profile} />${hasAccounts && hasPassword && html`<${Password} />`}`;
}

function UserCard() {
  const { name, is_admin } = /** @type {Me} */ (useSignal(me));
  const roles = useSignal(collections).map((each) => `${each.name}: ${labelFor("role", each.role)}`);
  return html`<section class="card row">
    <div class="grow"><h2>${name}</h2><p class="soft small">${is_admin ? t("server_admin") : roles.join(" · ") || t("no_collections")}</p></div>
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
  const loaded = useLoaded(() => get("/me/profile"));
  /** @param {FormValues} given */
  const save = async ({ profile }) => {
    const isKept = profile.trim() !== "";
    await (isKept ? put("/me/profile", { text: profile }) : remove("/me/profile"));
    loaded.set({ text: profile });
    notify(t(isKept ? "profile_kept" : "profile_forgotten"));
  };
  if (!loaded.value) return html`<${Loading} data=${loaded} />`;
  return html`<${Form} isCard action=${t("save")} onSubmit=${save}>
    <h2 id="profile">${t("profile_title")}</h2>
    <p class="soft" id="profile-use">${t("profile_use")}</p>
    <textarea class="whole" aria-labelledby="profile" aria-describedby="profile-use" name="profile" rows="3" maxlength="2000"
      placeholder=${t("profile_example")} defaultValue=${loaded.value.text}></textarea>
  <//>`;
}

function Password() {
  /** @param {FormValues} given */
  const save = ({ current, new: fresh, keep_tokens }) =>
    put("/me/password", { current, new: fresh, keep_tokens: keep_tokens === "on" }).then(() =>
      notify(t("password_changed")),
    );
  const common = { type: "password", required: true, maxlength: "200" };
  return html`<${Form} isCard action=${t("password_change")} onSubmit=${save}>
    <h2>${t("password_change")}</h2>
    <p class="soft">${t("password_rule")}</p>
    <${Field} ...${common} label=${t("password_current")} name="current" autocomplete="current-password" />
    <${Field} ...${common} label=${t("password_new")} name="new" minlength="12" autocomplete="new-password" />
    <label class="row"><input name="keep_tokens" type="checkbox" /> ${t("password_keep_tokens")}</label>
  <//>`;
}
