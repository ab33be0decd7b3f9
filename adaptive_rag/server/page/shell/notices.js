/** Short notices at the edge of the page: errors, and actions that can be undone. */
import { Problem } from "../core/api.js";
import { classes, html, signal, useEffect, useSignal, useState } from "../core/html.js";
import { t, translate } from "../core/texts.js";
import { en } from "../texts/en.js";

const MS_SHOWN = 8000;
const MS_OF_UNDO = 30_000;

/** @typedef {Message & { key: number, end: () => unknown, isBad?: boolean, undo?: () => void }} ShownNotice `end` runs when the notice times out or is closed */

/** @type {{ value: ShownNotice[] }} */
const notices = signal([]);
let lastKey = 0;
/** Whether a dialog fills the window, as a document on a phone does. It shows the notices then, because all else is out of reach. */
export const isCovered = signal(false);

/** @param {unknown} error @returns {Message} the message to show for an error, translated if the page knows its sentences */
export function errorMessage(error) {
  if (!(error instanceof Problem))
    return { text: t("broken", { what: error instanceof Error ? error.message : `${error}` }) };
  if (error.status === 0) return { text: t("offline") };
  const own = `problem_${error.type}`;
  if (own in en) return { text: t(/** @type {TextKey} */ (own)) };
  if (error.message) return translate(error.message);
  return { text: t(error.status > 501 ? "busy" : "failed", { status: error.status }) };
}

/** @param {unknown} error */
export const errorText = (error) => errorMessage(error).text;

/** Show a message of the server, translated if the page knows its sentences. @param {{ of: string | Message, class?: string }} props */
export function ServerMessage({ of, ...rest }) {
  const { text, lang } = typeof of === "string" ? translate(of) : of;
  return html`<span ...${rest} lang=${lang}>${text}</span>`;
}

/** Show an error where it occurred. @param {{ of: Message | null }} props */
export const ErrorMessage = ({ of }) =>
  of && html`<p class="bad" role="alert" lang=${of.lang}>${of.text}</p>`;

/** Show a text or an error. If the server was not reached, the banner above the page says so. @param {unknown} told */
export function notify(told) {
  if (told instanceof Problem && told.status === 0) return;
  addNotice(told instanceof Error ? { ...errorMessage(told), isBad: true } : { text: String(told) });
}

/**
 * Hide rows of a list, show a notice, and delete them after half a minute unless the user undoes it.
 * Leaving the page deletes them at once, and so does the next question.
 * @param {{ value: Set<string> }} gone the hidden rows @param {string[]} ids
 * @param {string} text @param {() => Promise<unknown>} act deletes them
 */
export function removeWithUndo(gone, ids, text, act) {
  gone.value = gone.value.union(new Set(ids));
  const undo = () => {
    gone.value = gone.value.difference(new Set(ids));
  };
  const drop = addNotice({
    text,
    end: () => {
      drop();
      return act().catch((error) => {
        undo();
        notify(error);
      });
    },
    undo: () => {
      drop();
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
  const drop = () => {
    if (document.activeElement?.closest(".notices")) takeFocus(document.getElementById("main"));
    notices.value = notices.value.filter((each) => each.key !== key);
  };
  const others = notices.value.filter((each) => each.undo || each.text !== notice.text);
  notices.value = [...others, { key, end: drop, ...notice }];
  return drop;
}

/** Show the notices: on the page, or in the dialog that covers it. @param {{ isInDialog?: boolean }} props */
export function Notices({ isInDialog = false }) {
  const all = useSignal(notices);
  if (useSignal(isCovered) !== isInDialog) return null;
  /** @param {ShownNotice} each */
  const draw = (each) => html`<${Notice} key=${each.key} ...${each} />`;
  return html`<div class="notices">
    <div class="stack" role="status">${all.filter((each) => !each.isBad).map(draw)}</div>
    ${all.filter((each) => each.isBad).map(draw)}
  </div>`;
}

/** Focus a notice's button, because the element that had the focus has disappeared. @param {HTMLElement | null} button */
const takeFocus = (button) => button?.focus({ preventScroll: true });

/** Show a notice. It times out, but not while it is hovered or, if nothing can be undone, focused. An error stays. @param {ShownNotice} props */
function Notice({ text, lang, isBad, undo, end }) {
  const [isHeld, setHeld] = useState(false);
  useEffect(() => {
    if (isBad || isHeld) return;
    const timer = setTimeout(end, undo ? MS_OF_UNDO : MS_SHOWN);
    return () => clearTimeout(timer);
  }, [isHeld]);
  const [hold, release] = [true, false].map((held) => () => setHeld(held));
  return html`<div class=${classes("card row", isBad && "bad")} role=${isBad && "alert"} onMouseEnter=${hold} onMouseLeave=${release} onFocusIn=${!undo && hold} onFocusOut=${release}>
    <span class="grow" lang=${lang}>${text}</span>
    ${undo ? html`<button ref=${takeFocus} onClick=${undo}>${t("undo")}</button>` : html`<button class="quiet" aria-label=${t("close")} onClick=${end}>×</button>`}
  </div>`;
}
