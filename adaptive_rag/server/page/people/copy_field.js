/** A text to be copied: a new password or token, which is shown once, or an address. */
import { html, useElement, useLayoutEffect } from "../core/html.js";
import { t } from "../core/texts.js";
import { notify } from "../shell/notices.js";

/** @param {{ label: string, secret: string, note?: string }} props */
export function CopyField({ label, secret, note = t("secret_once") }) {
  const field = useElement();
  useLayoutEffect(() => field.current?.select(), [secret]);
  const copy = async () => {
    field.current?.select();
    // Without https, the browser denies access to the clipboard. Select the text, to copy it with the keyboard.
    await navigator.clipboard?.writeText(secret);
    notify(t(navigator.clipboard ? "copied" : "copy_selected"));
  };
  return html`<div class="card row told">
    <p><strong>${label}</strong> ${note}</p>
    <input class="grow" ref=${field} readonly aria-label=${label} value=${secret} />
    <button class="primary" onClick=${copy}>${t("copy")}</button>
  </div>`;
}
