/** Sign in with a name and a password, or through an identity provider. */
import { Problem } from "../core/api.js";
import { html, useEffect, useElement, useSignal } from "../core/html.js";
import { signIn, signInMethods, storeUrl } from "../core/session.js";
import { t } from "../core/texts.js";
import { Field, Form } from "../shell/form.js";
import { describeError } from "../shell/notices.js";

export function SignIn() {
  const methods = useSignal(signInMethods);
  const box = useElement();
  useEffect(() => box.current?.querySelector("input")?.focus(), []);
  return html`<div class="sign-in stack" ref=${box}>
    <${Form} action=${t("sign_in")} onSubmit=${signIn} describe=${signInError}>
      <${Field} label=${t("name")} name="name" required maxlength="100" autocomplete="username" autocapitalize="none" spellcheck=${false} />
      <${Field} label=${t("password")} name="password" type="password" required maxlength="200" autocomplete="current-password" />
    <//>
    ${methods?.provider && html`<a class="button" href="/api/v1/session/provider" onClick=${storeUrl}>${t("sign_in_provider")}</a>`}
  </div>`;
}

/** @param {unknown} error @returns {Message} */
const signInError = (error) =>
  error instanceof Problem && error.status === 401 ? { text: t("sign_in_wrong") } : describeError(error);
