/** The citations of an answer: marks, the card that shows a quote, and the list of sources. */
import { html, signal, useEffect, useElement, useLayoutEffect, useSignal } from "../core/html.js";
import { insertMarks, renderMarkdown, withoutImages } from "../core/markup.js";
import { isMark, partText } from "../core/phrases.js";
import { describePlace, documentLabel } from "../core/places.js";
import { language, t } from "../core/texts.js";
import { openDocument } from "../document/opened.js";
import { preparePdf } from "../document/pane.js";

/** @typedef {{ collections: string[], citation: Citation, citations: Citation[] }} CitedMark */

/** @type {WeakMap<Element, CitedMark>} */
const citedByMark = new WeakMap();
/** @type {{ value: (CitedMark & { mark: Element }) | null }} */
const shownMark = signal(null);
let hideTimer = 0;

/** @typedef {Pick<Answer, "parts" | "citations">} CitedAnswer */

/** Return the marker of a mark: the number of its passage. @param {AnswerPart} part @param {Citation[]} citations */
const partMarker = ({ marker, citation = -1 }, citations) => marker ?? citations[citation].marker;

/** Return the number shown for each marker: 1, 2, 3 in order of appearance. @param {CitedAnswer} answer */
function numberMarkers({ parts, citations }) {
  const marks = parts.filter(isMark).map((part) => partMarker(part, citations));
  const markers = new Set([...marks, ...citations.map(({ marker }) => marker)]);
  return new Map([...markers].map((marker, at) => [marker, at + 1]));
}

/** Return an answer's citations with the numbers shown, in the order of these numbers. @param {CitedAnswer} answer */
function numberCitations(answer) {
  const numbers = numberMarkers(answer);
  const numbered = answer.citations.map((each) => ({ ...each, number: numbers.get(each.marker) ?? 0 }));
  return numbered.sort((a, b) => a.number - b.number);
}

/**
 * Show an answer, or a section of it, with its marks. `finish` may change the rendered nodes.
 * @param {{ text: string, collections: string[], answer: CitedAnswer, finish: (fragment: DocumentFragment) => void }} props
 *   `text` is Markdown with a placeholder for each mark
 */
export function MarkedText({ text, collections, answer, finish }) {
  const element = useElement();
  useLayoutEffect(() => {
    const fragment = renderMarkdown(text);
    const numbers = numberMarkers(answer);
    insertMarks(fragment, (at) => {
      const number = numbers.get(partMarker(answer.parts[at], answer.citations)) ?? 0;
      return createMark(collections, answer, answer.parts[at], number);
    });
    finish(fragment);
    element.current?.replaceChildren(fragment);
  }, [text, answer.citations, language.value]);
  return html`<div class="markdown" ref=${element}></div>`;
}

/**
 * Return the node for a mark: a button that shows its citation; in a draft, its number.
 * @param {string[]} collections @param {CitedAnswer} answer @param {AnswerPart} part @param {number} number as shown
 */
function createMark(collections, { citations }, part, number) {
  const citation = part.citation === undefined ? undefined : citations[part.citation];
  const mark = document.createElement(citation ? "button" : "span");
  mark.className = "mark";
  mark.textContent = String(number);
  if (citation) {
    mark.setAttribute("aria-label", t("ask_mark", { number, where: describeSource(collections, citation) }));
    mark.setAttribute("aria-describedby", "citation");
    citedByMark.set(mark, { collections, citation, citations });
  }
  return mark;
}

/**
 * Return the document and the place of a citation in words.
 * @param {string[]} collections @param {{ source: string, place: Place }} citation
 */
const describeSource = (collections, { source, place }) =>
  [documentLabel(collections, source), describePlace(place)].filter(Boolean).join(", ");

/** Show the quote of the mark that an event is about. @param {Event} event */
function showCard(event) {
  const mark = event.target instanceof Element ? event.target.closest("button.mark") : null;
  const cited = mark && citedByMark.get(mark);
  if (!cited) return;
  clearTimeout(hideTimer);
  if (shownMark.value?.mark === mark) return;
  preparePdf(cited.citation.source);
  shownMark.value = { ...cited, mark };
}
const hideCard = () => {
  shownMark.value = null;
};
const hideCardSoon = () => {
  clearTimeout(hideTimer);
  hideTimer = setTimeout(hideCard, 200);
};

/** Event handlers for the marks inside an element. */
export const markEvents = {
  // Do not show the card if an answer appears under a resting pointer, or if a closing document returns the focus.
  onPointerMove: (/** @type {PointerEvent} */ event) => event.pointerType === "mouse" && showCard(event),
  onFocusIn: (/** @type {FocusEvent} */ event) =>
    event.target instanceof Element && event.target.matches(":focus-visible") && showCard(event),
  onMouseOut: hideCardSoon,
  onFocusOut: hideCardSoon,
  onClick: (/** @type {Event} */ event) => {
    showCard(event);
    if (shownMark.value?.mark !== event.target) return;
    openDocument(shownMark.value.collections, shownMark.value.citation, shownMark.value.citations);
    hideCard();
  },
};

/** Show the quote of the mark that is hovered or focused. */
export function CitationCard() {
  const cited = useSignal(shownMark);
  useEffect(() => {
    if (!cited) return;
    const close = (/** @type {KeyboardEvent} */ event) => {
      if (event.key !== "Escape") return;
      event.preventDefault();
      event.stopPropagation();
      hideCard();
    };
    const stop = new AbortController();
    window.addEventListener("keydown", close, { capture: true, signal: stop.signal });
    window.addEventListener("scroll", hideCard, stop);
    return () => stop.abort();
  }, [cited]);
  if (!cited) return null;
  const { also_as: names = [], ocr_confidence: confidence, ...citation } = cited.citation;
  const { left, top, bottom } = cited.mark.getBoundingClientRect();
  const position = {
    left: `max(0.5rem, min(${left}px - 1rem, 100% - 25rem))`,
    ...(bottom < innerHeight / 2 ? { top: `${bottom + 4}px` } : { bottom: `${innerHeight - top + 4}px` }),
  };
  return html`<div id="citation" role="tooltip" class="card citation" style=${position}
    onMouseEnter=${() => clearTimeout(hideTimer)} onMouseLeave=${hideCardSoon}>
    <blockquote class="quoted">${citation.quote}</blockquote>
    <p class="small"><b>${documentLabel(cited.collections, citation.source)}</b> · ${describePlace(citation.place)}</p>
    ${names.length > 0 && html`<p class="small soft">${t("ask_also_as", { names: names.join(", ") })}</p>`}
    ${confidence !== undefined && confidence < 0.9 && html`<p class="small soft">${t("ask_scanned", { percent: Math.round(100 * confidence) })}</p>`}
  </div>`;
}

/** Show the cited places of an answer, each with its quotes. @param {{ turn: Turn }} props */
export function Sources({ turn }) {
  const citations = turn.answer?.citations ?? [];
  if (!turn.answer || !citations.length) return null;
  const groups = Object.values(
    Object.groupBy(numberCitations(turn.answer), ({ marker, source, place }) =>
      JSON.stringify([marker, source, describePlace({ ...place, lines: undefined })]),
    ),
  );
  return html`<details class="folded">
    <summary class="small soft">${t("ask_sources", { n: numberMarkers(turn.answer).size })}</summary>
    <ul class="plain">${groups.map((group = []) => {
      const { number, source, place } = group[0];
      return html`<li class="row"><span class="mark">${number}</span>
        <${SourceButton} name=${documentLabel(turn.collections, source)} place=${describePlace({ ...place, lines: undefined })}
          open=${() => openDocument(turn.collections, group[0], citations)} />
        <span class="small soft">${t("ask_quotes", { n: group.length })}</span>
        ${group.map(({ quote }) => html`<p class="printed small">“${quote}”</p>`)}</li>`;
    })}</ul>
  </details>`;
}

/** @param {{ name: string, place: string, open: () => void }} props */
function SourceButton({ name, place, open }) {
  return html`<button class="quiet opener grow" onClick=${open}><span><b>${name}</b> <span class="small">${place}</span></span></button>`;
}

/** Show the passages closest to a question that has no answer. @param {{ turn: Turn }} props */
export function ClosestPassages({ turn }) {
  const closest = turn.passages.slice(0, 3);
  if (!closest.length) return null;
  return html`<h3>${t("ask_nearest")}</h3>
    <ul class="plain">${closest.map(({ source, page, section, start, end, text }) => {
      const place = { page: page ?? undefined, section: section ?? undefined };
      return html`<li>
        <${SourceButton} name=${documentLabel(turn.collections, source)} place=${describePlace(place)}
          open=${() => openDocument(turn.collections, { source, page, start, end, quote: text })} />
        <p class="small soft beginning">${text.replace(/^#+ /gm, "")}</p></li>`;
    })}</ul>`;
}

/** Return an answer as Markdown, followed by its quotes. @param {string[]} collections @param {CitedAnswer} answer @returns {string} */
export function answerToMarkdown(collections, answer) {
  const numbers = numberMarkers(answer);
  const words = answer.parts.map((part) =>
    isMark(part) ? `[${numbers.get(partMarker(part, answer.citations))}]` : partText(part),
  );
  const quotes = numberCitations(answer).map(
    (each) =>
      `- [${each.number}] ${withoutImages(`${describeSource(collections, each)}: “${each.quote}”`.replace(/\s+/g, " "))}`,
  );
  return [words.join(""), quotes.join("\n")].filter(Boolean).join("\n\n");
}
