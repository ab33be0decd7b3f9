/** Render a part of a Markdown document, with its cited words, passages and notes marked. */
import { html, render, useElement, useLayoutEffect } from "../core/html.js";
import { createSpan, renderMarkdown, textNodesIn } from "../core/markup.js";
import { language } from "../core/texts.js";
import { NoteSign, PassageButton } from "./notes.js";

// Placeholders of private-use characters, which Markdown leaves unchanged: the start and the end of the cited words, a
// passage, a note, and the start and the end of a note's words. Those of passages and notes have a number.
const [CITED, CITED_END, PASSAGE, NOTE, NOTED, NOTED_END] = "\uE002\uE003\uE004\uE005\uE006\uE007";
const SIGN_CHARACTER = /[\uE000-\uE007]/;
const SIGNS = /([\uE002\uE003\uE006\uE007]|[\uE004\uE005]\d+[\uE004\uE005])/;
// Markdown syntax at the start of a line and at the end of words. A sign in the wrong place would break it.
const LINE_START = /^(?:[ \t]*(?:#{1,6} |>|[-*+] |\d+[.)] |\||[`~]{3,}[^\n]*\n))*[ \t]*[*_~]*/;
const WORD_END = /[\s|*_~]*$/;

/** @typedef {{ at: number, sign: string, isEnd?: boolean }} Sign */

/**
 * Show a part of a Markdown document.
 * @param {{ chars: string[], low: number, high: number, start: number, view: import("./text.js").View, passages: import("./text.js").Passage[] }} props
 *   the part is `chars` from `low` to `high`; `chars` begins at `start` of the whole text
 */
export function MarkdownText({ chars, low, high, start, view, passages }) {
  const element = useElement();
  const { target, notes } = view;
  const partStart = start + low;
  useLayoutEffect(() => {
    const signs = [
      ...spanSigns(target.start - partStart, target.end - partStart, CITED, CITED_END),
      ...passages.map((each, index) => ({ at: each.start - partStart, sign: PASSAGE + index + PASSAGE })),
      ...notes.flatMap((note, index) => [
        { at: Number(note.start) - partStart, sign: NOTE + index + NOTE },
        ...spanSigns(Number(note.start) - partStart, Number(note.end) - partStart, NOTED, NOTED_END),
      ]),
    ];
    // The text itself may have these characters, as signs of an icon font.
    const plain = chars.slice(low, high).map((char) => (SIGN_CHARACTER.test(char) ? "\uFFFD" : char));
    const fragment = renderMarkdown(insertSigns(plain, signs));
    for (const heading of fragment.querySelectorAll("h1, h2, h4, h5, h6")) {
      const replacement = document.createElement("h3");
      replacement.append(...heading.childNodes);
      heading.replaceWith(replacement);
    }
    renderSigns(fragment, target.start === target.end, passages, notes);
    element.current.replaceChildren(fragment);
  }, [chars, low, high, target.start, target.end, passages.length, notes, language.value]);
  return html`<div class="markdown" ref=${element} data-from=${partStart} data-about="true"></div>`;
}

/**
 * Return the signs around a span.
 * @param {number} begin @param {number} end @param {string} first @param {string} last @returns {Sign[]}
 */
const spanSigns = (begin, end, first, last) => [
  { at: begin < 0 && end > 0 ? 0 : begin, sign: first }, // the span may begin before this part
  { at: end, sign: last, isEnd: true },
];

/** Return a text with the signs inserted where they do not break its Markdown. @param {string[]} chars @param {Sign[]} signs */
function insertSigns(chars, signs) {
  let text = "";
  let from = 0;
  for (const { at, sign, isEnd } of signs.sort((one, other) => one.at - other.at)) {
    if (at < 0 || at > chars.length || (at === chars.length && !isEnd)) continue;
    const place = Math.max(at, from);
    const before = chars.slice(from, place).join("");
    const [opening] = isEnd ? [""] : (LINE_START.exec(chars.slice(place).join("")) ?? [""]);
    const closing = isEnd ? (WORD_END.exec(before)?.[0] ?? "") : "";
    text += before.slice(0, before.length - closing.length) + opening + sign + closing;
    from = place + Array.from(opening).length;
  }
  return text + chars.slice(from).join("");
}

/**
 * Replace the signs in rendered Markdown with marks, buttons of passages and signs of notes.
 * @param {DocumentFragment} fragment @param {boolean} isPoint whether the cited span is empty
 * @param {import("./text.js").Passage[]} passages @param {Note[]} notes
 */
function renderSigns(fragment, isPoint, passages, notes) {
  let isCited = false;
  let isFirst = true;
  let openNotes = 0;
  /** Let the page scroll to the first element of the cited words. @param {HTMLElement} element */
  const markTarget = (element) => {
    if (isFirst) Object.assign(element, { tabIndex: -1 }).dataset.target = "true";
    isFirst = false;
    return element;
  };
  /** @param {string} piece */
  const renderPiece = (piece) => {
    const number = Number(piece.slice(1, -1));
    if (piece[0] === PASSAGE && passages[number])
      return renderElement(html`<${PassageButton} ...${passages[number]} />`);
    if (piece[0] === NOTE && notes[number]) return renderElement(html`<${NoteSign} note=${notes[number]} />`);
    if (piece === CITED || piece === CITED_END) isCited = piece === CITED;
    if (piece === NOTED || piece === NOTED_END) openNotes += piece === NOTED ? 1 : -1;
    if (piece === CITED && isPoint) return markTarget(createSpan(""));
    if (!(isCited || openNotes > 0) || !piece.trim() || SIGNS.test(piece)) return piece.replace(SIGNS, "");
    const element = document.createElement(isCited ? "mark" : "span");
    if (openNotes > 0) element.className = "noted";
    element.textContent = piece;
    return isCited ? markTarget(element) : element;
  };
  for (const node of textNodesIn(fragment)) node.replaceWith(...node.data.split(SIGNS).map(renderPiece));
}

/** Return the element of a template. @param {any} template @returns {Element} */
function renderElement(template) {
  const holder = document.createElement("div");
  render(template, holder);
  return holder.children[0];
}
