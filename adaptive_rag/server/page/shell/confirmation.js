/** Dialogs that ask for confirmation. */
import { waitUntil } from "../core/api.js";
import { html } from "../core/html.js";
import { openDialog, openForm } from "./form.js";

/** @typedef {{ title: string, question: string, action: string, onSubmit: () => unknown }} Confirmation */

/** Open a dialog that asks for confirmation before something is deleted. @param {Confirmation} dialog */
export const openConfirmation = ({ question, ...dialog }) =>
  openForm({ ...dialog, fields: html`<p>${question}</p>`, isDanger: true });

/** Open such a dialog, and return whether the user confirmed it. @param {string} action @param {string} question */
export async function isConfirmed(action, question) {
  let confirmed = false;
  const onSubmit = () => {
    confirmed = true;
  };
  while (openDialog.value) await waitUntil(() => !openDialog.value); // another dialog
  openConfirmation({ title: action, question, action, onSubmit });
  await waitUntil(() => !openDialog.value);
  return confirmed;
}
