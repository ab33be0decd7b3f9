/** Short notices at the edge of the page: what went wrong, and what can be undone. */
import { Problem } from "../core/api.js";
import { classes, html, signal, useEffect, useSignal, useState } from "../core/html.js";
import { t, translated } from "../core/texts.js";
import { en } from "../texts/en.js";

const MS_SHOWN = 8000;

/** @typedef {Said & { key: number, end: () => unknown, isBad?: boolean, undo?: () => void }} Shown `end` is what its time brings */

/** @type {{ value: Shown[] }} */
const shown = signal([]);
let last = 0;

/** @param {unknown} error @returns {Said} what to show of an error; the server's own words are English */
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

/** Words of the server, in the reader's language where the page knows them. @param {{ of: string, class?: string }} props */
export function Said({ of, ...rest }) {
  const { text, lang } = translated(of);
  return html`<span ...${rest} lang=${lang}>${text}</span>`;
}

/** What went wrong, in its place. @param {{ of: Said | null }} props */
export const Trouble = ({ of }) => of && html`<p class="bad" role="alert" lang=${of.lang}>${of.text}</p>`;

/** Show a text, or what an error says; that the server is not reached stands above the page. @param {unknown} told */
export function tell(told) {
  if (told instanceof Problem && told.status === 0) return;
  show(told instanceof Error ? { ...said(told), isBad: true } : { text: String(told) });
}

/**
 * Let rows of a list vanish, say so, and delete them after a few seconds, unless that is undone before.
 * Who leaves the page has not undone it.
 * @param {{ value: Set<string> }} gone the rows that are not shown @param {string[]} ids
 * @param {string} text @param {() => Promise<unknown>} act deletes them
 */
export function removeWithUndo(gone, ids, text, act) {
  document.getElementById("main")?.focus({ preventScroll: true }); // what had the focus vanishes
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

/** Do now what could still be undone. */
export const finishAll = () => Promise.all(shown.value.map(({ undo, end }) => undo && end()));
window.addEventListener("pagehide", finishAll);

/** @param {Partial<Shown> & Said} notice @returns {() => void} what takes it away */
function show(notice) {
  const key = ++last;
  const drop = () => {
    shown.value = shown.value.filter((each) => each.key !== key);
  };
  const others = shown.value.filter((each) => each.undo || each.text !== notice.text);
  shown.value = [...others, { key, end: drop, ...notice }];
  return drop;
}

export function Notices() {
  const all = useSignal(shown);
  /** @param {Shown} each */
  const draw = (each) => html`<${Notice} key=${each.key} ...${each} />`;
  return html`<div class="notices">
    <div class="stack" role="status">${all.filter((each) => !each.isBad).map(draw)}</div>
    ${all.filter((each) => each.isBad).map(draw)}
  </div>`;
}

/** A notice that ends after a while, but not while somebody is at it; an error stays. @param {Shown} props */
function Notice({ text, lang, isBad, undo, end }) {
  const [isHeld, setHeld] = useState(false);
  useEffect(() => {
    if (isBad || isHeld) return;
    const timer = setTimeout(end, MS_SHOWN);
    return () => clearTimeout(timer);
  }, [isHeld]);
  const [hold, release] = [true, false].map((held) => () => setHeld(held));
  return html`<div class=${classes("card row", isBad && "bad")} role=${isBad && "alert"} onMouseEnter=${hold} onMouseLeave=${release} onFocusIn=${hold} onFocusOut=${release}>
    <span class="grow" lang=${lang}>${text}</span>
    ${undo ? html`<button onClick=${undo}>${t("undo")}</button>` : html`<button class="quiet" aria-label=${t("close")} onClick=${end}>×</button>`}
  </div>`;
}
