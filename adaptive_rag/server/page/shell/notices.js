/** Short notices at the edge of the page: errors, and actions that can be undone. */
import { Problem } from "../core/api.js";
import { classes, html, signal, useEffect, useSignal, useState } from "../core/html.js";
import { t, translated } from "../core/texts.js";
import { en } from "../texts/en.js";

const MS_SHOWN = 8000;
const MS_OF_UNDO = 30_000;

/** @typedef {Said & { key: number, end: () => unknown, isBad?: boolean, undo?: () => void }} Shown `end` runs when the notice times out or is closed */

/** @type {{ value: Shown[] }} */
const shown = signal([]);
let last = 0;
/** Whether a dialog fills the window, as a document on a phone does. It shows the notices then, because all else is out of reach. */
export const isCovered = signal(false);

/** @param {unknown} error @returns {Said} the message to show for an error, translated if the page knows its sentences */
export function said(error) {
  if (!(error instanceof Problem))
    return { text: t("broken", { what: error instanceof Error ? error.message : `${error}` }) };
  if (error.status === 0) return { text: t("offline") };
  const own = `problem_${error.type}`;
  if (own in en) return { text: t(/** @type {Words} */ (own)) };
  if (error.message) return translated(error.message);
  return { text: t(error.status > 501 ? "busy" : "failed", { status: error.status }) };
}

/** @param {unknown} error */
export const wordsOf = (error) => said(error).text;

/** Show a message of the server, translated if the page knows its sentences. @param {{ of: string | Said, class?: string }} props */
export function Said({ of, ...rest }) {
  const { text, lang } = typeof of === "string" ? translated(of) : of;
  return html`<span ...${rest} lang=${lang}>${text}</span>`;
}

/** Show an error where it occurred. @param {{ of: Said | null }} props */
export const Trouble = ({ of }) => of && html`<p class="bad" role="alert" lang=${of.lang}>${of.text}</p>`;

/** Show a text or an error. If the server was not reached, the banner above the page says so. @param {unknown} told */
export function tell(told) {
  if (told instanceof Problem && told.status === 0) return;
  show(told instanceof Error ? { ...said(told), isBad: true } : { text: String(told) });
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
  const drop = show({
    text,
    end: () => {
      drop();
      return act().catch((error) => {
        undo();
        tell(error);
      });
    },
    undo: () => {
      drop();
      undo();
    },
  });
}

/** Carry out now the deletions that could still be undone. */
export const finishAll = () => Promise.all(shown.value.map(({ undo, end }) => undo && end()));
window.addEventListener("pagehide", finishAll);

/** Show a notice. @param {Partial<Shown> & Said} notice @returns {() => void} removes the notice */
function show(notice) {
  const key = ++last;
  const drop = () => {
    if (document.activeElement?.closest(".notices")) takeFocus(document.getElementById("main"));
    shown.value = shown.value.filter((each) => each.key !== key);
  };
  const others = shown.value.filter((each) => each.undo || each.text !== notice.text);
  shown.value = [...others, { key, end: drop, ...notice }];
  return drop;
}

/** Show the notices: on the page, or in the dialog that covers it. @param {{ isInDialog?: boolean }} props */
export function Notices({ isInDialog = false }) {
  const all = useSignal(shown);
  if (useSignal(isCovered) !== isInDialog) return null;
  /** @param {Shown} each */
  const draw = (each) => html`<${Notice} key=${each.key} ...${each} />`;
  return html`<div class="notices">
    <div class="stack" role="status">${all.filter((each) => !each.isBad).map(draw)}</div>
    ${all.filter((each) => each.isBad).map(draw)}
  </div>`;
}

/** Focus a notice's button, because the element that had the focus has disappeared. @param {HTMLElement | null} button */
const takeFocus = (button) => button?.focus({ preventScroll: true });

/** Show a notice. It times out, but not while it is hovered or, if nothing can be undone, focused. An error stays. @param {Shown} props */
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
