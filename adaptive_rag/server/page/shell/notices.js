/** Short notices at the edge of the page: errors, and actions that can be undone. */
import { isUnreached, Problem } from "../core/api.js";
import { classes, html, signal, useEffect, useSignal, useState } from "../core/html.js";
import { findLabel, labelFor, t, translate } from "../core/texts.js";

const MS_SHOWN = 8000;
const MS_OF_UNDO = 30_000;

/** @typedef {Message & { key: number, end: () => unknown, isBad?: boolean, undo?: () => void }} ShownNotice `end` runs when the notice times out or is closed */

/** @type {{ value: ShownNotice[] }} */
const notices = signal([]);
let lastKey = 0;
/**
 * Whether a dialog fills the window, as a document on a phone does. Then the dialog shows the notices, because it
 * makes the rest of the page inert.
 */
export const isCovered = signal(false);

/** Return the message to show for an error, translated if the page knows its sentences. @param {unknown} error @returns {Message} */
export function describeError(error) {
  if (!(error instanceof Problem))
    return { text: t("broken", { what: error instanceof Error ? error.message : `${error}` }) };
  if (isUnreached(error)) return { text: t("offline") };
  if (error.type === "too_often" && error.retryAfter)
    return { text: t("sign_in_often", { minutes: Math.ceil(error.retryAfter / 60) }) };
  const type = error.type ?? "";
  // A label may have a place for the number in the server's message.
  const n = Number(/\d[\d,]*/.exec(error.message)?.[0].replaceAll(",", ""));
  if (findLabel("problem", type)) return { text: labelFor("problem", type, { n }) };
  if (error.message) return translate(error.message);
  return { text: t(error.status > 501 ? "busy" : "failed", { status: error.status }) };
}

/**
 * Show a message of the server, translated if the page knows its sentences.
 * @param {{ message: string | Message, class?: string }} props
 */
export function ServerMessage({ message, ...rest }) {
  const { text, lang } = typeof message === "string" ? translate(message) : message;
  return html`<span ...${rest} lang=${lang}>${text}</span>`;
}

/** Show an error where it occurred. @param {{ message: Message | null }} props */
export const ErrorMessage = ({ message }) =>
  message && html`<p class="bad" role="alert" lang=${message.lang}>${message.text}</p>`;

/** Show a text or an error. If the server was not reached, the banner above the page says so. @param {unknown} content */
export function notify(content) {
  if (isUnreached(content)) return;
  addNotice(
    content instanceof Error ? { ...describeError(content), isBad: true } : { text: String(content) },
  );
}

/**
 * Copy a text. Browsers allow it only on https and localhost, and may ask the user first.
 * @param {string} text @param {string} done @param {string} denied the keys of the notices
 */
export async function copyText(text, done, denied) {
  try {
    await navigator.clipboard.writeText(text);
    notify(t(done));
  } catch {
    notify(t(denied));
  }
}

/**
 * Hide rows of a list, show a notice, and delete them after half a minute unless the user undoes it.
 * Leaving the page deletes them at once, and so does the next question.
 * @param {{ value: Set<string> }} hidden the ids of all hidden rows @param {string[]} ids of those to delete
 * @param {string} text of the notice @param {() => Promise<unknown>} deleteAll deletes the rows on the server
 */
export function removeWithUndo(hidden, ids, text, deleteAll) {
  hidden.value = hidden.value.union(new Set(ids));
  const undo = () => {
    hidden.value = hidden.value.difference(new Set(ids));
  };
  const dismiss = addNotice({
    text,
    end: () => {
      dismiss();
      return deleteAll().catch((error) => {
        if (error.status === 404) return; // deleted in another tab
        undo();
        notify(error);
      });
    },
    undo: () => {
      dismiss();
      undo();
    },
  });
}

/** Carry out now the deletions that could still be undone. */
export const finishRemovals = () => Promise.all(notices.value.map(({ undo, end }) => undo && end()));
window.addEventListener("pagehide", finishRemovals);

/** Show a notice. @param {Partial<ShownNotice> & Message} notice @returns {() => void} removes the notice */
function addNotice(notice) {
  const key = ++lastKey;
  const dismiss = () => {
    if (document.activeElement?.closest(".notices")) takeFocus(document.getElementById("main"));
    notices.value = notices.value.filter((each) => each.key !== key);
  };
  const others = notices.value.filter((each) => each.undo || each.text !== notice.text);
  notices.value = [...others, { key, end: dismiss, ...notice }];
  return dismiss;
}

/** Show the notices: on the page, or in the dialog that covers it. @param {{ isInDialog?: boolean }} props */
export function Notices({ isInDialog = false }) {
  const all = useSignal(notices);
  if (useSignal(isCovered) !== isInDialog) return null;
  /** @param {ShownNotice} notice */
  const renderNotice = (notice) => html`<${Notice} key=${notice.key} ...${notice} />`;
  return html`<div class="notices">
    <div class="stack" role="status">${all.filter((each) => !each.isBad).map(renderNotice)}</div>
    ${all.filter((each) => each.isBad).map(renderNotice)}
  </div>`;
}

/** Focus an element in place of one that has disappeared. @param {HTMLElement | null} element */
const takeFocus = (element) => element?.focus({ preventScroll: true });

/**
 * Show a notice. It times out, but not while it is hovered or, if nothing can be undone, focused. An error stays.
 * @param {ShownNotice} props
 */
function Notice({ text, lang, isBad, undo, end }) {
  const [isPaused, setPaused] = useState(false);
  useEffect(() => {
    if (isBad || isPaused) return;
    const timer = setTimeout(end, undo ? MS_OF_UNDO : MS_SHOWN);
    return () => clearTimeout(timer);
  }, [isPaused]);
  const pause = () => setPaused(true);
  const resume = () => setPaused(false);
  return html`<div class=${classes("card row", isBad && "bad")} role=${isBad && "alert"} onMouseEnter=${pause} onMouseLeave=${resume} onFocusIn=${!undo && pause} onFocusOut=${resume}>
    <span class=${classes("grow", undo && "beginning")} lang=${lang}>${text}</span>
    ${undo ? html`<button ref=${takeFocus} onClick=${undo}>${t("undo")}</button>` : html`<button class="quiet" aria-label=${t("close")} onClick=${end}>×</button>`}
  </div>`;
}
