/** The text that the server stores for a document. The spans of citations are positions in it. */
import { get } from "../core/api.js";
import { classes, html, useEffect, useElement, useLayoutEffect, useMemo, useState } from "../core/html.js";
import { showInMiddle, VirtualList } from "../core/list.js";
import { placeWords } from "../core/places.js";
import { t } from "../core/texts.js";
import { Loading, readOnce, useLoaded } from "../shell/loaded.js";
import { wordsOf } from "../shell/notices.js";
import { MarkdownText } from "./markdown.js";
import { AddNote, editNote, NoteSign, Notes, useNotes, writeNote } from "./notes.js";
import { withTables } from "./tables.js";

// Characters per part, and how many more its last line may have.
const STEP = 20_000;
const SLACK = 2_000;
// Pixels of height per character, to estimate a part that has not been rendered.
const HIGH = 0.5;
const CODE = /\.(py|jsx?|tsx?|java|c|h|cpp|cs|go|rs|rb|php|sh|sql|css|jsonl?|ya?ml|toml|xml|ini|log)$/i;
const MARKDOWN = /\.(md|markdown)$/i;

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
  const [problem, setProblem] = useState("");
  const [hasPassages, setHasPassages] = useState(false);
  const noted = useNotes(path);
  const notes = useMemo(
    () => noted.notes.filter((note) => note.source === source && note.start !== null),
    [noted.notes, source],
  );
  const place = useElement();
  /** @param {number} [from] @param {number} [to] */
  const show = (from = 0, to = from, isShown = false) =>
    read(Math.floor(from / STEP)).then(
      ({ start: begin, length }) => {
        // A line that began in the previous part belongs to that part.
        const index = Math.floor(from / STEP) - (begin > from ? 1 : 0);
        setProblem("");
        setTarget({ index: from < length ? index : 0, length, start: from, end: to, isShown });
      },
      (error) => setProblem(wordsOf(error)),
    );
  useEffect(() => {
    show(start, end, start === undefined);
  }, [read, start, end]);

  const cited = () =>
    target && target.end > target.start ? { ...target, shown: citedIn(place.current) } : null;
  /** Write a note at the passage, or open the note, that was pressed. @param {any} event */
  const press = ({ target: pressed }) => {
    const { number, start, end } = pressed.closest("button.passage")?.dataset ?? {};
    const shown = t("document_passage", { n: number });
    if (number) writeNote(path, source, { start: Number(start), end: Number(end), shown });
    const note = notes.find(({ id }) => id === pressed.closest("button.note-sign")?.dataset.note);
    if (note) editNote(path, note);
  };

  if (problem) return html`<p class="pane-note" role="alert">${problem}</p>`;
  if (!target) return html`<p class="pane-note soft" aria-busy="true">${t("loading")}</p>`;
  return html`<div class=${classes("document-text", CODE.test(source) && "code", hasPassages && "passages")}>
    <div class="row pane-tools">
      <${Outline} key=${path + source} path=${path} source=${source} onChoose=${(/** @type {number} */ at) => show(at)} />
      <${Notes} path=${path} source=${source} noted=${noted} onChoose=${(/** @type {any} */ note) => show(note.start, note.end)} />
      <button class="quiet small" aria-pressed=${hasPassages} onClick=${() => setHasPassages(!hasPassages)}>${t("document_passages")}</button>
      <${AddNote} path=${path} source=${source} box=${() => place.current} cited=${cited} otherwise=${() => setHasPassages(true)} />
    </div>
    <div class="scroller" role="group" tabindex="0" aria-label=${t("document_text")} ref=${place} onClick=${press}>
      <${VirtualList} key=${source} count=${Math.max(1, Math.ceil(target.length / STEP))} target=${target}
        height=${(/** @type {number} */ index) => Math.min(STEP, target.length - index * STEP) * HIGH}
        row=${(/** @type {number} */ index, /** @type {number} */ height) =>
          html`<${TextBlock} read=${read} index=${index} height=${height} view=${{ target, hasPassages, notes }} />`} />
    </div>
  </div>`;
}

/** @param {HTMLElement} box */
const citedIn = (box) => [...box.querySelectorAll("mark")].map((mark) => mark.textContent).join("");

/** @param {string} path @param {string} source @param {number} index @returns {Promise<Block>} */
async function readBlock(path, source, index) {
  const from = index * STEP;
  const part = await get(
    `${path}/text?${new URLSearchParams({ source, start: `${from}`, length: `${STEP + SLACK}` })}`,
  );
  const chars = Array.from(part.text);
  const low = index ? lineAfter(chars, 0) : 0;
  const high = from + STEP < part.length ? lineAfter(chars, STEP) : chars.length;
  return { ...part, start: from + low, chars: chars.slice(low, high) };
}

/**
 * Return where the next line begins, or the next word if the line is long.
 * @param {string[]} chars @param {number} at
 */
function lineAfter(chars, at) {
  const next = chars.slice(at, at + SLACK);
  return at + 1 + (next.includes("\n") ? next.indexOf("\n") : next.indexOf(" "));
}

/** @param {{ read: (index: number) => Promise<Block>, index: number, height: number, view: View }} props */
function TextBlock({ read, index, height, view }) {
  const { target } = view;
  const loaded = useLoaded(() => read(index), [read, index]);
  const block = loaded.value;
  const place = useElement();
  useLayoutEffect(() => {
    const found = place.current?.querySelector("[data-target]");
    if (!found || target.isShown) return;
    target.isShown = true;
    showInMiddle(found);
  }, [block, target]);
  if (!block) return html`<div style=${{ minHeight: `${height}px` }}><${Loading} of=${loaded} /></div>`;
  const end = block.start + block.chars.length;
  const shown = block.stretches.filter((each) => each.end > block.start && each.start < end);
  return html`<div class="text-block" ref=${place}>
    ${shown.map((each) => html`<${StretchText} block=${block} stretch=${each} view=${view} />`)}
  </div>`;
}

/** @param {{ block: Block, stretch: Stretch, view: View }} props */
function StretchText({ block, stretch, view }) {
  const { chars, start } = block;
  const low = Math.max(stretch.start, start) - start;
  const high = Math.min(stretch.end - start, chars.length);
  const line = chars.indexOf("\n", low);
  const first = line < 0 || line > high ? high : line;
  const sections = stretch.section?.split(" > ") ?? [];
  // Most texts contain the heading themselves: "## Storms" or "Storms".
  const isTitle =
    sections.at(-1) ===
    chars
      .slice(low, first)
      .join("")
      .replace(/^#+\s*/, "")
      .trim();
  const place = [stretch.page && placeWords({ page: stretch.page }), ...sections].filter(Boolean);
  const label =
    stretch.start >= start && place.length > 0 && html`<p class="text-place">${place.join(" › ")}</p>`;
  if (MARKDOWN.test(block.source)) {
    const passages = view.hasPassages ? passagesIn(block, low, high) : [];
    return html`${!isTitle && label}<${MarkdownText} all=${chars} low=${low} high=${high} start=${start} view=${view} passages=${passages} />`;
  }
  /** @param {number} from @param {number} to */
  const draw = (from, to) =>
    withTables(block.source, chars, from, to, (...part) => pieces(block, view, ...part));
  if (isTitle) return html`<h3>${draw(low, first)}</h3>${draw(Math.min(first + 1, high), high)}`;
  return html`${label}${draw(low, high)}`;
}

/**
 * Return the passages that begin in a part of a block.
 * @param {Block} block @param {number} low @param {number} high
 */
const passagesIn = ({ start, passages }, low, high) =>
  passages.filter(({ start: at }) => at - start >= low && at - start < high);

/**
 * Render a part of a block with its marks.
 * @param {Block} block @param {View} view
 * @param {number} low @param {number} high @param {number} lead
 *   positions in the block; the text from `lead` to `low` is not shown, and marks in it move to `low`
 */
function pieces({ start, chars, ...block }, { target, hasPassages, notes }, low, high, lead = low) {
  /** @param {number | null} place */
  const shown = (place) => {
    const at = Number(place) - start;
    return at >= lead && at < low ? low : at;
  };
  const found = hasPassages ? passagesIn({ start, chars, ...block }, lead, high) : [];
  const passages = new Map(found.map((passage) => [shown(passage.start), passage]));
  const noted = notes.map((note) => ({ note, from: shown(note.start), to: Number(note.end) - start }));
  const [from, to] = [shown(target.start), target.end - start];
  const cuts = [low, from, to, ...passages.keys(), ...noted.flatMap((each) => [each.from, each.to])];
  const begins = [...new Set(cuts.filter((at) => at >= low && at < high))].sort((a, b) => a - b);
  return begins.map((at, index) => {
    const passage = passages.get(at);
    const begin = at === from || undefined;
    const isCited = at >= from && at < to;
    const isNoted = noted.some((each) => at >= each.from && at < each.to);
    return html`${
      passage &&
      html`<button class="passage" data-number=${passage.number} data-start=${passage.start} data-end=${passage.end}
        aria-label=${t("note_passage", { n: passage.number })}></button>`
    }${noted.map(({ note, from }) => from === at && html`<${NoteSign} note=${note} />`)}<${isCited ? "mark" : "span"}
      class=${isNoted && "noted"} tabindex=${(begin || isCited) && -1} data-target=${begin} data-at=${start + at}>${chars.slice(at, begins[index + 1] ?? high).join("")}<//>`;
  });
}

/** @param {{ path: string, source: string, onChoose: (at: number) => void }} props */
function Outline({ path, source, onChoose }) {
  const [isWanted, setWanted] = useState(false);
  return html`<details class="contents grow small" onToggle=${() => setWanted(true)}>
    <summary>${t("document_outline")}</summary>
    ${isWanted && html`<${Sections} path=${path} source=${source} onChoose=${onChoose} />`}
  </details>`;
}

/** @param {{ path: string, source: string, onChoose: (at: number) => void }} props */
function Sections({ path, source, onChoose }) {
  const outline = useLoaded(() => get(`${path}/outline?${new URLSearchParams({ source })}`));
  if (!outline.value) return html`<${Loading} of=${outline} />`;
  /** @type {Stretch[]} */
  const stretches = outline.value.stretches;
  const sections = stretches.filter(
    (each, at) => each.section && each.section !== stretches[at - 1]?.section,
  );
  if (!sections.length) return html`<p class="soft">${t("document_no_outline")}</p>`;
  return html`<ol class="plain">${sections.map(({ start, section }) => {
    const names = /** @type {string} */ (section).split(" > ");
    return html`<li style=${{ paddingInlineStart: `${names.length - 1}rem` }}>
      <button class="quiet small" onClick=${() => onChoose(start)}>${names.at(-1)}</button>
    </li>`;
  })}</ol>`;
}
