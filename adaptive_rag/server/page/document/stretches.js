/** The text of a document by its sections, pages, slides and sheets, with the cited words, passages and notes marked. */
import { html } from "../core/html.js";
import { describePlace } from "../core/places.js";
import { t } from "../core/texts.js";
import { MarkdownText } from "./markdown.js";
import { NoteSign } from "./notes.js";
import { renderWithTables } from "./tables.js";

/**
 * @typedef {import("./text.js").Block} Block
 * @typedef {import("./text.js").Stretch} Stretch
 * @typedef {import("./text.js").View} View
 */

const MARKDOWN = /\.(md|markdown)$/i;
const SLIDES = /\.(pp[st][xm]?|pot[xm]?|f?odp|otp)$/i;
/** Workbooks, whose sections are sheets. */
export const SHEETS = /\.(xl[st][xmb]?|f?ods|ots)$/i;

/** @param {{ block: Block, stretches: Stretch[], view: View }} props the stretches are those of the block */
export function Stretches({ block, stretches, view }) {
  /** @param {Stretch} stretch */
  const draw = (stretch, isOnSlide = false) =>
    html`<${StretchText} block=${block} stretch=${stretch} view=${view} isOnSlide=${isOnSlide} />`;
  if (!SLIDES.test(block.source)) return stretches.map((each) => draw(each));
  return [...Map.groupBy(stretches.filter(hasText(block)), ({ page }) => page)].map(
    ([page, parts]) => html`
    <section class="card slide" aria-label=${describePlace({ slide: page ?? undefined })}>
      ${page && html`<p class="small soft">${t("document_slide", { n: page })}</p>`}
      ${parts.map((each) => draw(each, true))}
    </section>`,
  );
}

/** Return whether a stretch has more than blanks. @param {Block} block */
const hasText =
  ({ chars, start }) =>
  (/** @type {Stretch} */ each) =>
    skipBlanks(chars, Math.max(0, each.start - start), each.end - start) <
    Math.min(each.end - start, chars.length);

/** Return where the first text at or after a place is. @param {string[]} chars @param {number} low @param {number} high */
function skipBlanks(chars, low, high) {
  let at = low;
  while (at < high && !chars[at]?.trim()) at += 1;
  return at;
}

/** @param {{ block: Block, stretch: Stretch, view: View, isOnSlide?: boolean }} props */
function StretchText({ block, stretch, view, isOnSlide }) {
  const { chars, start } = block;
  let low = Math.max(stretch.start, start) - start;
  let high = Math.min(stretch.end - start, chars.length);
  if (isOnSlide) {
    low = skipBlanks(chars, low, high);
    while (high > low && !chars[high - 1].trim()) high -= 1;
  }
  const line = chars.indexOf("\n", low);
  const first = line < 0 || line > high ? high : line;
  const sections = stretch.section?.split(" > ") ?? [];
  // Most texts contain the heading themselves: "## Storms" or "Storms".
  const opening = chars.slice(low, first).join("");
  const isTitle = sections.at(-1) === opening.replace(/^#+\s*/, "").trim();
  const place = isOnSlide
    ? sections.filter((name) => name !== `Slide ${stretch.page}`) // a slide without a title
    : [stretch.page && describePlace({ page: stretch.page }), ...sections].filter(Boolean);
  const tag = SHEETS.test(block.source) && sections.length === 1 ? "h3" : "p";
  const label =
    stretch.start >= start && place.length > 0 && html`<${tag} class="text-place">${place.join(" › ")}<//>`;
  if (MARKDOWN.test(block.source)) {
    const passages = view.hasPassages ? passagesIn(block, low, high) : [];
    return html`${!isTitle && label}<${MarkdownText} all=${chars} low=${low} high=${high} start=${start} view=${view} passages=${passages} />`;
  }
  /** @param {number} from @param {number} to */
  const draw = (from, to) =>
    renderWithTables(block.source, chars, from, to, (...part) => renderMarked(block, view, ...part));
  if (isTitle) {
    const rest = isOnSlide ? skipBlanks(chars, first, high) : Math.min(first + 1, high);
    return html`<h3>${draw(low, first)}</h3>${draw(rest, high)}`;
  }
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
function renderMarked({ start, chars, ...block }, { target, hasPassages, notes }, low, high, lead = low) {
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
      class=${isNoted && "noted"} tabindex=${(begin || isCited) && -1} data-target=${begin} data-from=${start + at}>${chars.slice(at, begins[index + 1] ?? high).join("")}<//>`;
  });
}
