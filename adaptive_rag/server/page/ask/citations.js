/** The citations of an answer: marks, the card that shows a quote, and the list of sources. */
import { html, signal, useEffect, useElement, useLayoutEffect, useSignal } from "../core/html.js";
import { placeMarks, renderMarkdown } from "../core/markup.js";
import { isMark, textOf } from "../core/phrases.js";
import { nameIn, placeWords } from "../core/places.js";
import { language, t } from "../core/texts.js";
import { openDocument } from "../document/opened.js";
import { preparePdf } from "../document/pane.js";

/** @typedef {{ collections: string[], citation: Citation, all: Citation[] }} Cited */

/** @type {WeakMap<Element, Cited>} */
const cited = new WeakMap();
/** @type {{ value: (Cited & { mark: Element }) | null }} */
const shown = signal(null);
let closing = 0;

/** @typedef {Pick<Answer, "parts" | "citations">} Written */

/** Return the marker of a part, as the passages are numbered. @param {AnswerPart} part @param {Citation[]} citations */
const markerOf = ({ marker, citation = -1 }, citations) => marker ?? citations[citation].marker;

/** Return the number shown for each marker: 1, 2, 3 in order of appearance. @param {Written} answer */
function shownNumbers({ parts, citations }) {
  const written = parts.filter(isMark).map((part) => markerOf(part, citations));
  const markers = new Set([...written, ...citations.map(({ marker }) => marker)]);
  return new Map([...markers].map((marker, at) => [marker, at + 1]));
}

/** Return an answer's citations with their numbers, in order. @param {Written} answer */
function inOrder(answer) {
  const numbers = shownNumbers(answer);
  const numbered = answer.citations.map((each) => ({ ...each, number: numbers.get(each.marker) ?? 0 }));
  return numbered.sort((a, b) => a.number - b.number);
}

/**
 * Show an answer, or a section of it, with its marks. `finish` may change the rendered nodes.
 * @param {{ text: string, collections: string[], answer: Written, finish: (drawn: DocumentFragment) => void }} props
 *   `text` is Markdown with a placeholder for each mark
 */
export function MarkedText({ text, collections, answer, finish }) {
  const place = useElement();
  useLayoutEffect(() => {
    const drawn = renderMarkdown(text);
    const numbers = shownNumbers(answer);
    placeMarks(drawn, (at) => {
      const number = numbers.get(markerOf(answer.parts[at], answer.citations)) ?? 0;
      return markOf(collections, answer, answer.parts[at], number);
    });
    finish(drawn);
    place.current?.replaceChildren(drawn);
  }, [text, answer.citations, language.value]);
  return html`<div class="markdown" ref=${place}></div>`;
}

/**
 * Return the node for a mark: a button that shows its citation; in a draft, its number.
 * @param {string[]} collections @param {Written} answer @param {AnswerPart} part @param {number} number as shown
 */
function markOf(collections, { citations: all }, part, number) {
  const citation = part.citation === undefined ? undefined : all[part.citation];
  const mark = document.createElement(citation ? "button" : "span");
  mark.className = "mark";
  mark.textContent = String(number);
  if (citation) {
    mark.setAttribute("aria-label", t("ask_mark", { number, where: whereOf(collections, citation) }));
    mark.setAttribute("aria-describedby", "citation");
    cited.set(mark, { collections, citation, all });
  }
  return mark;
}

/** @param {string[]} collections @param {{ source: string, place: Place }} citation */
const whereOf = (collections, { source, place }) =>
  [nameIn(collections, source), placeWords(place)].filter(Boolean).join(", ");

/** @param {Event} event */
function show(event) {
  const mark = event.target instanceof Element ? event.target.closest("button.mark") : null;
  const found = mark && cited.get(mark);
  if (!found) return;
  clearTimeout(closing);
  if (shown.value?.mark === mark) return;
  preparePdf(found.citation.source);
  shown.value = { ...found, mark };
}
const hide = () => {
  shown.value = null;
};
const hideSoon = () => {
  clearTimeout(closing);
  closing = setTimeout(hide, 200);
};

/** Event handlers for the marks inside an element. */
export const onMarks = {
  // Do not show the card if an answer appears under a resting pointer, or if a closing document returns the focus.
  onPointerMove: (/** @type {PointerEvent} */ event) => event.pointerType === "mouse" && show(event),
  onFocusIn: (/** @type {FocusEvent} */ event) =>
    event.target instanceof Element && event.target.matches(":focus-visible") && show(event),
  onMouseOut: hideSoon,
  onFocusOut: hideSoon,
  onClick: (/** @type {Event} */ event) => {
    show(event);
    if (shown.value?.mark !== event.target) return;
    openDocument(shown.value.collections, shown.value.citation, shown.value.all);
    hide();
  },
};

/** Show the quote of the mark that is hovered or focused. */
export function CitationCard() {
  const now = useSignal(shown);
  useEffect(() => {
    if (!now) return;
    const close = (/** @type {KeyboardEvent} */ event) => {
      if (event.key !== "Escape") return;
      event.preventDefault();
      event.stopPropagation();
      hide();
    };
    const stop = new AbortController();
    window.addEventListener("keydown", close, { capture: true, signal: stop.signal });
    window.addEventListener("scroll", hide, stop);
    return () => stop.abort();
  }, [now]);
  if (!now) return null;
  const { also_as: names = [], ocr_confidence: sure, ...citation } = now.citation;
  const { left, top, bottom } = now.mark.getBoundingClientRect();
  const place = {
    left: `max(0.5rem, min(${left}px - 1rem, 100% - 25rem))`,
    ...(bottom < innerHeight / 2 ? { top: `${bottom + 4}px` } : { bottom: `${innerHeight - top + 4}px` }),
  };
  return html`<div id="citation" role="tooltip" class="card citation" style=${place}
    onMouseEnter=${() => clearTimeout(closing)} onMouseLeave=${hideSoon}>
    <blockquote class="quoted">${citation.quote}</blockquote>
    <p class="small"><b>${nameIn(now.collections, citation.source)}</b> · ${placeWords(citation.place)}</p>
    ${names.length > 0 && html`<p class="small soft">${t("ask_also_as", { names: names.join(", ") })}</p>`}
    ${sure !== undefined && sure < 0.9 && html`<p class="small soft">${t("ask_scanned", { percent: Math.round(100 * sure) })}</p>`}
  </div>`;
}

/** @param {{ turn: Turn }} props */
export function Sources({ turn }) {
  const citations = turn.answer?.citations ?? [];
  if (!turn.answer || !citations.length) return null;
  const groups = Object.values(
    Object.groupBy(inOrder(turn.answer), ({ marker, source, place }) =>
      JSON.stringify([marker, source, placeWords({ ...place, lines: undefined })]),
    ),
  );
  return html`<details class="folded">
    <summary class="small soft">${t("ask_sources", { n: groups.length })}</summary>
    <ul class="plain">${groups.map((group = []) => {
      const { number, source, place } = group[0];
      return html`<li class="row"><span class="mark">${number}</span>
        <${Opener} name=${nameIn(turn.collections, source)} place=${placeWords({ ...place, lines: undefined })}
          open=${() => openDocument(turn.collections, group[0], citations)} />
        <span class="small soft">${t("ask_quotes", { n: group.length })}</span>
        ${group.map(({ quote }) => html`<p class="printed small">“${quote}”</p>`)}</li>`;
    })}</ul>
  </details>`;
}

/** @param {{ name: string, place: string, open: () => void }} props */
function Opener({ name, place, open }) {
  return html`<button class="quiet opener grow" onClick=${open}><span><b>${name}</b> <span class="small">${place}</span></span></button>`;
}

/** Show the passages closest to a question that has no answer. @param {{ turn: Turn }} props */
export function Nearest({ turn }) {
  const nearest = turn.passages.slice(0, 3);
  if (!nearest.length) return null;
  return html`<h3>${t("ask_nearest")}</h3>
    <ul class="plain">${nearest.map(({ source, page, section, start, end, text }) => {
      const place = { page: page ?? undefined, section: section ?? undefined };
      return html`<li>
        <${Opener} name=${nameIn(turn.collections, source)} place=${placeWords(place)}
          open=${() => openDocument(turn.collections, { source, page, start, end, quote: text })} />
        <p class="small soft beginning">${text.replace(/^#+ /gm, "")}</p></li>`;
    })}</ul>`;
}

/** @param {string[]} collections @param {Written} answer @returns {string} the answer as Markdown, followed by its quotes */
export function asMarkdown(collections, answer) {
  const numbers = shownNumbers(answer);
  const words = answer.parts.map((part) =>
    isMark(part) ? `[${numbers.get(markerOf(part, answer.citations))}]` : textOf(part),
  );
  const quotes = inOrder(answer).map(
    (each) => `- [${each.number}] ${whereOf(collections, each)}: “${each.quote.replace(/\s+/g, " ")}”`,
  );
  return [words.join(""), quotes.join("\n")].filter(Boolean).join("\n\n");
}
