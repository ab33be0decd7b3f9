/** The text that the server stores for a document. The spans of citations are positions in it. */
import { get } from "../core/api.js";
import { classes, html, useEffect, useElement, useLayoutEffect, useMemo, useState } from "../core/html.js";
import { t } from "../core/texts.js";
import { showInMiddle, VirtualList } from "../core/virtual_list.js";
import { Loading, readOnce, useLoaded } from "../shell/loaded.js";
import { describeError } from "../shell/notices.js";
import { AddNote, editNote, Notes, useNotes, writeNote } from "./notes.js";
import { Stretches } from "./stretches.js";
import { WORKBOOKS } from "./tables.js";

// The number of characters per block, and how many more its last line may have.
const BLOCK_LENGTH = 20_000;
const MAX_OVERRUN = 2_000;
// Estimates the height of a block that has not been rendered.
const PIXELS_PER_CHARACTER = 0.5;
const CODE = /\.(py|jsx?|tsx?|java|c|h|cpp|cs|go|rs|rb|php|sh|sql|css|jsonl?|ya?ml|toml|xml|ini|log)$/i;

/** @typedef {{ start: number, end: number, section: string | null, page: number | null }} Stretch */
/** @typedef {{ number: number, start: number, end: number }} Passage */
/** @typedef {{ source: string, start: number, length: number, chars: string[], stretches: Stretch[], passages: Passage[] }} Block */
/** @typedef {{ index: number, length: number, start: number, end: number, isShown: boolean }} Target */
/** @typedef {{ target: Target, hasPassages: boolean, notes: Note[] }} View what is marked in the text; the notes have a place in it */

/**
 * Show a document's text, its outline and its passages, with the characters from `start` to `end` marked.
 * @param {{ path: string, source: string, start?: number, end?: number }} props
 *   `path` is the document's path below /api/v1; `start` and `end` count Unicode code points of the whole text
 */
export function DocumentText({ path, source, start, end = start }) {
  const read = useMemo(() => readOnce((index) => readBlock(path, source, index)), [path, source]);
  const [target, setTarget] = useState(/** @type {Target | null} */ (null));
  const [problem, setProblem] = useState(/** @type {Message | null} */ (null));
  const [hasPassages, setHasPassages] = useState(false);
  const documentNotes = useNotes(path);
  const notes = useMemo(
    () => documentNotes.notes.filter((note) => note.source === source && note.start !== null),
    [documentNotes.notes, source],
  );
  const scroller = useElement();
  /** Scroll to a span, and mark it. @param {number} [from] @param {number} [to] */
  const showSpan = (from = 0, to = from, isShown = false) =>
    read(Math.floor(from / BLOCK_LENGTH)).then(
      ({ start: begin, length }) => {
        // A line that began in the previous block belongs to that block.
        const index = Math.floor(from / BLOCK_LENGTH) - (begin > from ? 1 : 0);
        setProblem(null);
        setTarget({ index: from < length ? index : 0, length, start: from, end: to, isShown });
      },
      (error) => setProblem(describeError(error)),
    );
  const showTarget = () => void showSpan(start, end, start === undefined);
  useEffect(showTarget, [read, start, end]);

  const cited = () =>
    target && target.end > target.start ? { ...target, shown: citedText(scroller.current) } : null;
  /** Write a note at the passage, or open the note, that was pressed. @param {any} event */
  const onPress = ({ target: pressed }) => {
    const { number, start, end } = pressed.closest("button.passage")?.dataset ?? {};
    const shown = t("document_passage", { n: number });
    if (number) writeNote(path, source, { start: Number(start), end: Number(end), shown });
    const note = notes.find(({ id }) => id === pressed.closest("button.note-sign")?.dataset.note);
    if (note) editNote(path, note);
  };

  if (problem || !target)
    return html`<div class="pane-note"><${Loading} data=${{ value: null, problem, again: showTarget }} /></div>`;
  return html`<div class=${classes("document-text", CODE.test(source) && "code", hasPassages && "passages")}>
    <div class="row pane-tools">
      <${Outline} key=${path + source} path=${path} source=${source} onChoose=${(/** @type {number} */ at) => showSpan(at)} />
      <${Notes} path=${path} source=${source} documentNotes=${documentNotes} onChoose=${(/** @type {any} */ note) => showSpan(note.start, note.end)} />
      <button class="quiet small" aria-pressed=${hasPassages} onClick=${() => setHasPassages(!hasPassages)}>${t("document_passages")}</button>
      <${AddNote} path=${path} source=${source} box=${() => scroller.current} cited=${cited} onNothing=${() => setHasPassages(true)} />
    </div>
    <div class="scroller" role="group" tabindex="0" aria-label=${t("document_text")} ref=${scroller} onClick=${onPress}>
      <${VirtualList} key=${source} count=${Math.max(1, Math.ceil(target.length / BLOCK_LENGTH))} target=${target}
        height=${(/** @type {number} */ index) => Math.min(BLOCK_LENGTH, target.length - index * BLOCK_LENGTH) * PIXELS_PER_CHARACTER}
        row=${(/** @type {number} */ index, /** @type {number} */ height) =>
          html`<${TextBlock} read=${read} index=${index} height=${height} view=${{ target, hasPassages, notes }} />`} />
    </div>
  </div>`;
}

/** Return the marked words. @param {HTMLElement} box */
const citedText = (box) => [...box.querySelectorAll("mark")].map((mark) => mark.textContent).join("");

/**
 * Read a block of whole lines from the server.
 * @param {string} path @param {string} source @param {number} index @returns {Promise<Block>}
 */
async function readBlock(path, source, index) {
  const from = index * BLOCK_LENGTH;
  const part = await get(
    `${path}/text?${new URLSearchParams({ source, start: `${from}`, length: `${BLOCK_LENGTH + MAX_OVERRUN}` })}`,
  );
  const chars = Array.from(part.text);
  const low = index ? nextLineStart(chars, 0) : 0;
  const high = from + BLOCK_LENGTH < part.length ? nextLineStart(chars, BLOCK_LENGTH) : chars.length;
  return { ...part, start: from + low, chars: chars.slice(low, high) };
}

/** Return the position where the next line begins, or the next word if the line is long. @param {string[]} chars @param {number} at */
function nextLineStart(chars, at) {
  const next = chars.slice(at, at + MAX_OVERRUN);
  return at + 1 + (next.includes("\n") ? next.indexOf("\n") : next.indexOf(" "));
}

/** @param {{ read: (index: number) => Promise<Block>, index: number, height: number, view: View }} props */
function TextBlock({ read, index, height, view }) {
  const { target } = view;
  const loaded = useLoaded(() => read(index), [read, index]);
  const block = loaded.value;
  const element = useElement();
  useLayoutEffect(() => {
    const marked = element.current?.querySelector("[data-target]");
    if (!marked) return;
    if (!target.isShown) showInMiddle(marked);
    // Notes that arrive later cut the text anew, and what had the focus is gone.
    else if (document.activeElement === document.body) marked.focus({ preventScroll: true });
    target.isShown = true;
  }, [block, target, view]);
  if (!block) return html`<div style=${{ minHeight: `${height}px` }}><${Loading} data=${loaded} /></div>`;
  const end = block.start + block.chars.length;
  const stretches = block.stretches.filter((each) => each.end > block.start && each.start < end);
  return html`<div class="text-block" ref=${element}><${Stretches} block=${block} stretches=${stretches} view=${view} /></div>`;
}

/**
 * Show the sections of a document to choose from: folded, or the sheets of a workbook as tabs.
 * @param {{ path: string, source: string, onChoose: (at: number) => void }} props
 */
function Outline(props) {
  const [hasOpened, setHasOpened] = useState(false);
  if (WORKBOOKS.test(props.source)) return html`<${Sections} ...${props} areTabs />`;
  return html`<details class="contents grow small" onToggle=${() => setHasOpened(true)}>
    <summary>${t("document_outline")}</summary>
    ${hasOpened && html`<${Sections} ...${props} />`}
  </details>`;
}

/** @param {{ path: string, source: string, onChoose: (at: number) => void, areTabs?: boolean }} props */
function Sections({ path, source, onChoose, areTabs }) {
  const outline = useLoaded(() => get(`${path}/outline?${new URLSearchParams({ source })}`));
  if (!outline.value) return html`<${Loading} data=${outline} />`;
  /** @type {{ start: number, names: string[] }[]} */
  const all = outline.value.stretches.map((/** @type {Stretch} */ { start, section }) => ({
    start,
    names: (section ?? "").split(" > ").slice(0, areTabs ? 1 : undefined),
  }));
  const sections = all.filter(({ names }, at) => names[0] && `${names}` !== `${all[at - 1]?.names}`);
  if (areTabs && sections.length < 2) return null;
  if (areTabs)
    return html`<div class="row sheets" role="group" aria-label=${t("document_sheets")}>${sections.map(
      ({ start, names: [name] }) =>
        html`<button class="quiet small" onClick=${() => onChoose(start)}>${name}</button>`,
    )}</div>`;
  if (!sections.length) return html`<p class="soft">${t("document_no_outline")}</p>`;
  return html`<ol class="plain">${sections.map(
    ({ start, names }) => html`<li style=${{ paddingInlineStart: `${names.length - 1}rem` }}>
      <button class="quiet small" onClick=${() => onChoose(start)}>${names.at(-1)}</button>
    </li>`,
  )}</ol>`;
}
