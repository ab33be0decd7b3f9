/** Forms in the page or in a dialog: named fields, a button, and an error message. */
import { Problem } from "../core/api.js";
import { html, onValue, signal, useElement, useLayoutEffect, useSignal, useState } from "../core/html.js";
import { t } from "../core/texts.js";
import { ErrorMessage, errorMessage } from "./notices.js";

/** @typedef {{ title: string, action: string, act: (given: FormValues) => unknown, fields?: any, isDanger?: boolean }} FormDialog */
/** @typedef {{ title: string, sure: string, action: string, act: () => unknown }} Confirmation */

/** @type {{ value: FormDialog | null }} */
const openDialog = signal(null);

/** Open a dialog that asks for input or for confirmation. @param {FormDialog} what */
export function openForm(what) {
  openDialog.value = what;
}

/** Open a dialog that asks whether something is to be deleted. @param {Confirmation} what */
export const openConfirmation = ({ sure, ...what }) =>
  openForm({ ...what, fields: html`<p>${sure}</p>`, isDanger: true });

/** Show the dialog that `openForm` has opened. */
export function FormDialogHost() {
  const what = useSignal(openDialog);
  if (!what) return null;
  const close = () => {
    openDialog.value = null;
  };
  /** @param {FormValues} given */
  const act = async (given) => {
    await what.act(given);
    if (openDialog.value === what) close();
  };
  return html`<${Dialog} title=${what.title} close=${close}>
    <${Form} ...${what} act=${act} close=${close}>${what.fields}<//>
  <//>`;
}

/**
 * Show a form. It is sent once at a time, and cleared after `act` has succeeded.
 * @param {{ action: string, act: (given: FormValues) => unknown, say?: typeof errorMessage, unknown?: TextKey, close?: () => void, isDanger?: boolean, isCard?: boolean, beside?: any, children?: any }} props
 *   `say` turns an error into a message, `unknown` says what was not found; `beside` are further buttons
 */
export function Form({
  action,
  act,
  say = errorMessage,
  unknown,
  close,
  isDanger,
  isCard,
  beside,
  children,
}) {
  const [problem, setProblem] = useState(/** @type {Message | null} */ (null));
  /** @param {SubmitEvent} event */
  const send = async (event) => {
    event.preventDefault();
    const form = /** @type {HTMLFormElement} */ (event.currentTarget);
    if (form.ariaBusy) return;
    form.ariaBusy = "true";
    setProblem(null);
    try {
      await act(Object.fromEntries(new FormData(form)));
      form.reset();
    } catch (error) {
      const isUnknown = unknown && error instanceof Problem && error.status === 404;
      setProblem(isUnknown ? { text: t(unknown) } : say(error));
      /** @type {HTMLInputElement | null} */ (form.querySelector("[type=password]"))?.select();
    } finally {
      form.ariaBusy = null;
    }
  };
  return html`<form class=${isCard ? "fields card" : "fields"} onSubmit=${send}>
    ${children}
    <${ErrorMessage} of=${problem} />
    <div class="row"><button class=${isDanger ? "danger" : "primary"}>${action}</button>
      ${beside}
      ${close && html`<button type="button" onClick=${close}>${t("cancel")}</button>`}</div>
  </form>`;
}

/**
 * Show a field with its label: a select if it has options, a text area if it has rows.
 * @param {{ label: string, options?: [value: string, words: string][], rows?: number } & Record<string, any>} props
 */
export function Field({ label, options, ...rest }) {
  const tag = options ? Select : rest.rows ? "textarea" : "input";
  return html`<label class=${rest.rows && "whole"}>${label}<${tag} autocomplete="off" options=${options} ...${rest} /></label>`;
}

/**
 * Show a select.
 * @param {{ options: [value: string, words: string][], onChoose?: (value: string) => unknown } & Record<string, any>} props
 */
export const Select = ({ options, onChoose = () => {}, ...rest }) => html`
  <select ...${rest} onChange=${onValue(onChoose)}>
  ${options.map(([value, words = value]) => html`<option value=${value}>${words}</option>`)}
</select>`;

/**
 * Show a modal dialog. Closing it returns the focus.
 * @param {{ title: string, close?: () => void, children: any }} props without `close`, Escape does nothing
 */
export function Dialog({ title, close, children }) {
  const dialog = useElement();
  useLayoutEffect(() => {
    const shown = dialog.current;
    shown?.showModal();
    return () => shown?.close();
  }, []);
  /** @param {Event} event */
  const cancel = (event) => {
    event.preventDefault();
    close?.();
  };
  return html`<dialog class="stack" ref=${dialog} aria-label=${title} onCancel=${cancel}><h2>${title}</h2>${children}</dialog>`;
}
