/** The text that the server stores for a document. The spans of citations are positions in it. */
import { get } from "../core/api.js";
import { classes, html, useEffect, useElement, useLayoutEffect, useMemo, useState } from "../core/html.js";
import { showInMiddle, VirtualList } from "../core/list.js";
import { placeWords } from "../core/places.js";
import { t } from "../core/texts.js";
import { Loading, readOnce, useLoaded } from "../shell/loaded.js";
import { wordsOf } from "../shell/notices.js";
import { MarkdownText } from "./markdown.js";
import { withTables } from "./tables.js";

// Characters per part, and how many more its last line may have.
const STEP = 20_000;
const SLACK = 2_000;
// Pixels of height per character, to estimate a part that has not been rendered.
const HIGH = 0.5;
const CODE = /\.(py|jsx?|tsx?|java|c|h|cpp|cs|go|rs|rb|php|sh|sql|css|jsonl?|ya?ml|toml|xml|ini|log)$/i;
const MARKDOWN = /\.(md|markdown)$/i;

/** @typedef {{ start: number, end: number, section: string | null, page: number | null }} Stretch */
/** @typedef {{ number: number, start: number }} Passage */
/** @typedef {{ source: string, start: number, length: number, chars: string[], stretches: Stretch[], passages: Passage[] }} Block */
/** @typedef {{ index: number, length: number, start: number, end: number, isShown: boolean }} Target */

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

  if (problem) return html`<p class="pane-note" role="alert">${problem}</p>`;
  if (!target) return html`<p class="pane-note soft" aria-busy="true">${t("loading")}</p>`;
  return html`<div class=${classes("document-text", CODE.test(source) && "code", hasPassages && "passages")}>
    <div class="row pane-tools">
      <${Outline} key=${path + source} path=${path} source=${source} onChoose=${(/** @type {number} */ at) => show(at)} />
      <button class="quiet small" aria-pressed=${hasPassages} onClick=${() => setHasPassages(!hasPassages)}>${t("document_passages")}</button>
    </div>
    <div class="scroller" role="group" tabindex="0" aria-label=${t("document_text")}>
      <${VirtualList} key=${source} count=${Math.max(1, Math.ceil(target.length / STEP))} target=${target}
        height=${(/** @type {number} */ index) => Math.min(STEP, target.length - index * STEP) * HIGH}
        row=${(/** @type {number} */ index, /** @type {number} */ height) =>
          html`<${TextBlock} read=${read} index=${index} height=${height} target=${target} hasPassages=${hasPassages} />`} />
    </div>
  </div>`;
}

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

/** @param {{ read: (index: number) => Promise<Block>, index: number, height: number, target: Target, hasPassages: boolean }} props */
function TextBlock({ read, index, height, target, hasPassages }) {
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
    ${shown.map((each) => html`<${StretchText} block=${block} stretch=${each} target=${target} hasPassages=${hasPassages} />`)}
  </div>`;
}

/** @param {{ block: Block, stretch: Stretch, target: Target, hasPassages: boolean }} props */
function StretchText({ block, stretch, target, hasPassages }) {
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
  /** @param {number} at */
  const within = (at) => at - start - low;
  if (MARKDOWN.test(block.source)) {
    const passages = hasPassages ? numbersIn(block, low, high, low) : new Map();
    return html`${!isTitle && label}<${MarkdownText} all=${chars} low=${low} high=${high}
      begin=${within(target.start)} end=${within(target.end)} passages=${passages} />`;
  }
  /** @param {number} from @param {number} to */
  const draw = (from, to) =>
    withTables(block.source, chars, from, to, (...part) => pieces(block, target, hasPassages, ...part));
  if (isTitle) return html`<h3>${draw(low, first)}</h3>${draw(Math.min(first + 1, high), high)}`;
  return html`${label}${draw(low, high)}`;
}

/**
 * Return where passages begin in a part of a block: position to number.
 * @param {Block} block @param {number} low @param {number} high @param {number} from the position to count from
 */
const numbersIn = ({ start, passages }, low, high, from = 0) =>
  new Map(
    passages
      .map(({ start: at, number }) => /** @type {[number, number]} */ ([at - start, number]))
      .filter(([at]) => at >= low && at < high)
      .map(([at, number]) => [at - from, number]),
  );

/**
 * Render a part of a block with its marks.
 * @param {Block} block @param {Target} target @param {boolean} hasPassages
 * @param {number} low @param {number} high @param {number} lead
 *   positions in the block; the text from `lead` to `low` is not shown, and marks in it move to `low`
 */
function pieces(block, target, hasPassages, low, high, lead = low) {
  const { chars, start } = block;
  /** @param {number} at */
  const shown = (at) => (at >= lead && at < low ? low : at);
  const found = hasPassages ? [...numbersIn(block, lead, high)] : [];
  const numbers = new Map(found.map(([at, number]) => [shown(at), number]));
  const [from, to] = [shown(target.start - start), target.end - start];
  const cuts = [low, from, to, ...numbers.keys()].filter((at) => at >= low && at < high);
  const begins = [...new Set(cuts)].sort((a, b) => a - b);
  return begins.map((at, index) => {
    const words = chars.slice(at, begins[index + 1] ?? high).join("");
    const number = numbers.get(at);
    const begin = at === from || undefined;
    return html`${number && html`<span class="passage" data-number=${number}></span>`}${
      at >= from && at < to
        ? html`<mark tabindex="-1" data-target=${begin}>${words}</mark>`
        : html`<span tabindex=${begin && -1} data-target=${begin}>${words}</span>`
    }`;
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
