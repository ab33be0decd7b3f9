/** Forms in the page or in a dialog: named fields, a button, and an error message. */
import { Problem } from "../core/api.js";
import { html, onValue, signal, useElement, useLayoutEffect, useSignal, useState } from "../core/html.js";
import { t } from "../core/texts.js";
import { said, Trouble } from "./notices.js";

/** @typedef {{ title: string, action: string, act: (given: Given) => unknown, fields?: any, isDanger?: boolean }} Asked */
/** @typedef {{ title: string, sure: string, action: string, act: () => unknown }} Sure */

/** @type {{ value: Asked | null }} */
const asked = signal(null);

/** Open a dialog that asks for input or for confirmation. @param {Asked} what */
export function openForm(what) {
  asked.value = what;
}

/** Open a dialog that asks whether something is to be deleted. @param {Sure} what */
export const openSure = ({ sure, ...what }) =>
  openForm({ ...what, fields: html`<p>${sure}</p>`, isDanger: true });

/** Show the dialog that `openForm` has opened. */
export function OpenForm() {
  const what = useSignal(asked);
  if (!what) return null;
  const close = () => {
    asked.value = null;
  };
  /** @param {Given} given */
  const act = async (given) => {
    await what.act(given);
    if (asked.value === what) close();
  };
  return html`<${Dialog} title=${what.title} close=${close}>
    <${Form} ...${what} act=${act} close=${close}>${what.fields}<//>
  <//>`;
}

/**
 * Show a form. It is sent once at a time, and cleared after `act` has succeeded.
 * @param {{ action: string, act: (given: Given) => unknown, say?: typeof said, unknown?: Words, close?: () => void, isDanger?: boolean, isCard?: boolean, beside?: any, children?: any }} props
 *   `say` turns an error into a message, `unknown` says what was not found; `beside` are further buttons
 */
export function Form({ action, act, say = said, unknown, close, isDanger, isCard, beside, children }) {
  const [problem, setProblem] = useState(/** @type {Said | null} */ (null));
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
    <${Trouble} of=${problem} />
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
  const tag = options ? Choice : rest.rows ? "textarea" : "input";
  return html`<label class=${rest.rows && "whole"}>${label}<${tag} autocomplete="off" options=${options} ...${rest} /></label>`;
}

/**
 * Show a select.
 * @param {{ options: [value: string, words: string][], onChoose?: (value: string) => unknown } & Record<string, any>} props
 */
export const Choice = ({ options, onChoose = () => {}, ...rest }) => html`
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
