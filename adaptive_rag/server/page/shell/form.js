/** Forms in the page or in a dialog: named fields, a button, and an error message. */
import { Problem } from "../core/api.js";
import { html, onValue, signal, useElement, useLayoutEffect, useSignal, useState } from "../core/html.js";
import { t } from "../core/texts.js";
import { describeError, ErrorMessage, notify } from "./notices.js";

/** @typedef {{ title: string, action: string, onSubmit: (values: FormValues) => unknown, fields?: any, isDanger?: boolean }} FormDialog */

/** @type {{ value: FormDialog | null }} the dialog that is open */
export const openDialog = signal(null);

/** Open a dialog. @param {FormDialog} dialog */
export function openForm(dialog) {
  openDialog.value = dialog;
}

/** Show the open dialog. */
export function FormDialogHost() {
  const form = useSignal(openDialog);
  if (!form) return null;
  const close = () => {
    openDialog.value = null;
  };
  /** @param {FormValues} values */
  const onSubmit = async (values) => {
    try {
      await form.onSubmit(values);
    } catch (error) {
      if (openDialog.value === form) throw error;
      notify(error); // the user has closed the dialog meanwhile
    }
    if (openDialog.value === form) close();
  };
  return html`<${Dialog} title=${form.title} close=${close}>
    <${Form} ...${form} onSubmit=${onSubmit} close=${close}>${form.fields}<//>
  <//>`;
}

/**
 * Show a form. It cannot be sent twice at the same time, and is cleared after `onSubmit` has succeeded.
 * @param {{ action: string, onSubmit: (values: FormValues) => unknown, describe?: typeof describeError, notFound?: string, close?: () => void, isDanger?: boolean, isCard?: boolean, extraButtons?: any, children?: any }} props
 *   `describe` turns an error into a message; `notFound` is the text for status 404; `extraButtons` stand beside the main one
 */
export function Form({
  action,
  onSubmit,
  describe = describeError,
  notFound,
  close,
  isDanger,
  isCard,
  extraButtons,
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
      await onSubmit(Object.fromEntries(new FormData(form)));
      form.reset();
    } catch (error) {
      const isNotFound = notFound && error instanceof Problem && error.status === 404;
      setProblem(isNotFound ? { text: t(notFound) } : describe(error));
      /** @type {HTMLInputElement | null} */ (form.querySelector("[type=password]"))?.select();
    } finally {
      form.ariaBusy = null;
    }
  };
  return html`<form class=${isCard ? "fields card" : "fields"} onSubmit=${send}>
    ${children}
    <${ErrorMessage} message=${problem} />
    <div class="row"><button class=${isDanger ? "danger" : "primary"}>${action}</button>
      ${extraButtons}
      ${close && html`<button type="button" onClick=${close}>${t("cancel")}</button>`}</div>
  </form>`;
}

/**
 * Show a field with its label: a select if it has options, a text area if it has rows.
 * @param {{ label: string, options?: [value: string, label: string][], rows?: number } & Record<string, any>} props
 */
export function Field({ label, options, ...rest }) {
  const tag = options ? Select : rest.rows ? "textarea" : "input";
  return html`<label class=${rest.rows && "whole"}>${label}<${tag} autocomplete="off" options=${options} ...${rest} /></label>`;
}

/**
 * Show a select.
 * @param {{ options: [value: string, label: string][], onChoose?: (value: string) => unknown } & Record<string, any>} props
 */
export const Select = ({ options, onChoose = () => {}, ...rest }) => html`
  <select ...${rest} onChange=${onValue(onChoose)}>
  ${options.map(([value, text = value]) => html`<option value=${value}>${text}</option>`)}
</select>`;

/**
 * Show a modal dialog. Closing it returns the focus.
 * @param {{ title: string, close?: () => void, children: any }} props without `close`, Escape does nothing
 */
export function Dialog({ title, close, children }) {
  const dialog = useElement();
  useLayoutEffect(() => {
    const element = dialog.current;
    element?.showModal();
    return () => element?.close();
  }, []);
  /** @param {Event} event */
  const cancel = (event) => {
    event.preventDefault();
    close?.();
  };
  // A browser closes a dialog at the second Escape even if the first was prevented.
  const onClose = () => dialog.current && (close ? close() : dialog.current.showModal());
  return html`<dialog class="stack" ref=${dialog} aria-label=${title} onCancel=${cancel} onClose=${onClose}><h2>${title}</h2>${children}</dialog>`;
}
