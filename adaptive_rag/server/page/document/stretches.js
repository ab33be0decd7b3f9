/** The text of a document by its sections, pages, slides and sheets, with the cited words, passages and notes marked. */
import { html } from "../core/html.js";
import { describePlace } from "../core/places.js";
import { t } from "../core/texts.js";
import { MarkdownText } from "./markdown.js";
import { NoteSign, PassageButton } from "./notes.js";
import { renderWithTables, WORKBOOKS } from "./tables.js";

/**
 * @typedef {import("./text.js").Block} Block
 * @typedef {import("./text.js").Stretch} Stretch
 * @typedef {import("./text.js").View} View
 */

const MARKDOWN = /\.(md|markdown)$/i;
const SLIDES = /\.(pp[st][xm]?|pot[xm]?|f?odp|otp)$/i;

/** @param {{ block: Block, stretches: Stretch[], view: View }} props the stretches are those of the block */
export function Stretches({ block, stretches, view }) {
  /** @param {Stretch} stretch */
  const renderStretch = (stretch, isOnSlide = false) =>
    html`<${StretchText} block=${block} stretch=${stretch} view=${view} isOnSlide=${isOnSlide} />`;
  if (!SLIDES.test(block.source)) return stretches.map((each) => renderStretch(each));
  return [...Map.groupBy(stretches.filter(hasText(block)), ({ page }) => page)].map(
    ([page, parts]) => html`
    <section class="card slide" aria-label=${describePlace({ slide: page ?? undefined })}>
      ${page && html`<p class="small soft">${t("document_slide", { n: page })}</p>`}
      ${parts.map((each) => renderStretch(each, true))}
    </section>`,
  );
}

/** Return a function that tests whether a stretch of a block has more than blanks. @param {Block} block */
const hasText =
  ({ chars, start }) =>
  (/** @type {Stretch} */ each) =>
    skipBlanks(chars, Math.max(0, each.start - start), each.end - start) <
    Math.min(each.end - start, chars.length);

/**
 * Return the position of the first character from `low` on that is not blank; `high` if there is none.
 * @param {string[]} chars @param {number} low @param {number} high
 */
function skipBlanks(chars, low, high) {
  let at = low;
  while (at < high && !chars[at]?.trim()) at += 1;
  return at;
}

/**
 * Show a stretch below the label of its place: "page 4 › Storms".
 * @param {{ block: Block, stretch: Stretch, view: View, isOnSlide?: boolean }} props
 */
function StretchText({ block, stretch, view, isOnSlide }) {
  const { chars, start } = block;
  let low = Math.max(stretch.start, start) - start;
  let high = Math.min(stretch.end - start, chars.length);
  if (isOnSlide) {
    low = skipBlanks(chars, low, high);
    while (high > low && !chars[high - 1].trim()) high -= 1;
  }
  const lineEnd = chars.indexOf("\n", low);
  const firstLineEnd = lineEnd < 0 || lineEnd > high ? high : lineEnd;
  const sections = stretch.section?.split(" > ") ?? [];
  // Most texts contain the heading themselves: "## Storms" or "Storms".
  const firstLine = chars.slice(low, firstLineEnd).join("");
  const startsWithHeading = sections.at(-1) === firstLine.replace(/^#+\s*/, "").trim();
  const labelParts = isOnSlide
    ? sections.filter((name) => name !== `Slide ${stretch.page}`) // a slide without a title
    : [stretch.page && describePlace({ page: stretch.page }), ...sections].filter(Boolean);
  const tag = WORKBOOKS.test(block.source) && sections.length === 1 ? "h3" : "p";
  const label =
    stretch.start >= start &&
    labelParts.length > 0 &&
    html`<${tag} class="text-place">${labelParts.join(" › ")}<//>`;
  if (MARKDOWN.test(block.source)) {
    const passages = view.hasPassages ? passagesIn(block, low, high) : [];
    return html`${!startsWithHeading && label}<${MarkdownText} chars=${chars} low=${low} high=${high} start=${start} view=${view} passages=${passages} />`;
  }
  /** @param {number} from @param {number} to */
  const renderText = (from, to) =>
    renderWithTables(block.source, chars, from, to, (...part) => renderMarked(block, view, ...part));
  if (startsWithHeading) {
    const rest = isOnSlide ? skipBlanks(chars, firstLineEnd, high) : Math.min(firstLineEnd + 1, high);
    return html`<h3>${renderText(low, firstLineEnd)}</h3>${renderText(rest, high)}`;
  }
  return html`${label}${renderText(low, high)}`;
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
 * @param {number} low @param {number} high @param {number} labelStart
 *   positions in the block; the text from `labelStart` to `low` is not shown, and marks in it move to `low`
 */
function renderMarked(
  { start, chars, ...block },
  { target, hasPassages, notes },
  low,
  high,
  labelStart = low,
) {
  /** @param {number | null} place */
  const visibleAt = (place) => {
    const at = Number(place) - start;
    return at >= labelStart && at < low ? low : at;
  };
  const inPart = hasPassages ? passagesIn({ start, chars, ...block }, labelStart, high) : [];
  const passages = new Map(inPart.map((passage) => [visibleAt(passage.start), passage]));
  const spanOf = (/** @type {Note} */ note) => ({
    note,
    from: visibleAt(note.start),
    to: Number(note.end) - start,
  });
  const noteSpans = notes.map(spanOf);
  const [from, to] = [visibleAt(target.start), target.end - start];
  const cuts = [low, from, to, ...passages.keys(), ...noteSpans.flatMap((each) => [each.from, each.to])];
  const starts = [...new Set(cuts.filter((at) => at >= low && at < high))].sort((a, b) => a - b);
  return starts.map((at, index) => {
    const passage = passages.get(at);
    const isTargetStart = at === from || undefined;
    const isCited = at >= from && at < to;
    const isNoted = noteSpans.some((each) => at >= each.from && at < each.to);
    return html`${passage && html`<${PassageButton} ...${passage} />`}${noteSpans.map(({ note, from }) => from === at && html`<${NoteSign} note=${note} />`)}<${isCited ? "mark" : "span"}
      class=${isNoted && "noted"} tabindex=${(isTargetStart || isCited) && -1} data-target=${isTargetStart} data-from=${start + at}>${chars.slice(at, starts[index + 1] ?? high).join("")}<//>`;
  });
}
