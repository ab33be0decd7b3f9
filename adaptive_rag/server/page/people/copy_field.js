/** A field with a text to copy: a new password or token, which is shown once, or an address. */
import { html, useElement, useLayoutEffect } from "../core/html.js";
import { t } from "../core/texts.js";
import { copyText } from "../shell/notices.js";

/** @param {{ label: string, text: string, note?: string }} props */
export function CopyField({ label, text, note = t("secret_once") }) {
  const field = useElement();
  useLayoutEffect(() => {
    field.current?.focus(); // scrolls to it
    field.current?.select();
  }, [text]);
  const copy = () => {
    field.current?.select();
    copyText(text, "copied", "copy_selected"); // the selection can be copied with the keyboard
  };
  return html`<div class="card row told">
    <p><strong>${label}</strong> ${note}</p>
    <input class="grow" ref=${field} readonly aria-label=${label} value=${text} />
    <button class="primary" onClick=${copy}>${t("copy")}</button>
  </div>`;
}
