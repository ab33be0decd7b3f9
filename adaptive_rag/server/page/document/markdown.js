/** Render a part of a Markdown document, with its cited words, passages and notes marked. */
import { html, useElement, useLayoutEffect } from "../core/html.js";
import { createSpan, renderMarkdown, textNodesIn } from "../core/markup.js";
import { t } from "../core/texts.js";
import { noteLabel } from "./notes.js";

// Signs of private-use characters, which Markdown passes through: start and end of the cited words and of a note's
// words, a passage and a note. The last two have a number.
const [BEGIN, END, PASSAGE, NOTE, NOTED, PLAIN] = "\uE002\uE003\uE004\uE005\uE006\uE007";
const SIGNS = /([\uE002\uE003\uE006\uE007]|[\uE004\uE005]\d+[\uE004\uE005])/;
// Markdown syntax at the start of a line and at the end of words. A sign in the wrong place would break it.
const LINE_START = /^(?:[ \t]*(?:#{1,6} |>|[-*+] |\d+[.)] |\||[`~]{3,}[^\n]*\n))*[ \t]*[*_~]*/;
const WORD_END = /[\s|*_~]*$/;

/** @typedef {{ at: number, sign: string, isEnd?: boolean }} Sign */

/**
 * @param {{ all: string[], low: number, high: number, start: number, view: import("./text.js").View, passages: import("./text.js").Passage[] }} props
 *   the part is `all` from `low` to `high`; `all` begins at `start` of the whole text
 */
export function MarkdownText({ all, low, high, start, view, passages }) {
  const place = useElement();
  const { target, notes } = view;
  const from = start + low;
  useLayoutEffect(() => {
    const signs = [
      ...spanSigns(target.start - from, target.end - from, BEGIN, END),
      ...passages.map((each, index) => ({ at: each.start - from, sign: PASSAGE + index + PASSAGE })),
      ...notes.flatMap((note, index) => [
        { at: Number(note.start) - from, sign: NOTE + index + NOTE },
        ...spanSigns(Number(note.start) - from, Number(note.end) - from, NOTED, PLAIN),
      ]),
    ];
    const drawn = renderMarkdown(insertSigns(all.slice(low, high), signs));
    for (const heading of drawn.querySelectorAll("h1, h2, h4, h5, h6")) {
      const third = document.createElement("h3");
      third.append(...heading.childNodes);
      heading.replaceWith(third);
    }
    renderSigns(drawn, target.start === target.end, passages, notes);
    place.current.replaceChildren(drawn);
  }, [all, low, high, target.start, target.end, passages.length, notes]);
  return html`<div class="markdown" ref=${place} data-from=${from} data-about="true"></div>`;
}

/** @param {number} begin @param {number} end @param {string} first @param {string} last @returns {Sign[]} */
const spanSigns = (begin, end, first, last) => [
  { at: begin < 0 && end > 0 ? 0 : begin, sign: first }, // it may have begun before this part
  { at: end, sign: last, isEnd: true },
];

/** @param {string[]} chars @param {Sign[]} signs */
function insertSigns(chars, signs) {
  let text = "";
  let from = 0;
  for (const { at, sign, isEnd } of signs.sort((one, other) => one.at - other.at)) {
    if (at < 0 || at > chars.length || (at === chars.length && !isEnd)) continue;
    const place = Math.max(at, from);
    const before = chars.slice(from, place).join("");
    const [lead] = isEnd ? [""] : (LINE_START.exec(chars.slice(place).join("")) ?? [""]);
    const tail = isEnd ? (WORD_END.exec(before)?.[0] ?? "") : "";
    text += before.slice(0, before.length - tail.length) + lead + sign + tail;
    from = place + Array.from(lead).length;
  }
  return text + chars.slice(from).join("");
}

/**
 * @param {DocumentFragment} drawn @param {boolean} isPoint
 * @param {import("./text.js").Passage[]} passages @param {Note[]} notes
 */
function renderSigns(drawn, isPoint, passages, notes) {
  let [isCited, isFirst, noted] = [false, true, 0];
  /** @param {HTMLElement} element */
  const target = (element) => {
    if (isFirst) Object.assign(element, { tabIndex: -1 }).dataset.target = "true";
    isFirst = false;
    return element;
  };
  /** @param {string} piece */
  const draw = (piece) => {
    const number = Number(piece.slice(1, -1));
    if (piece[0] === PASSAGE && passages[number]) return passageButton(passages[number]);
    if (piece[0] === NOTE && notes[number]) return noteButton(notes[number]);
    if (piece === BEGIN || piece === END) isCited = piece === BEGIN;
    if (piece === NOTED || piece === PLAIN) noted += piece === NOTED ? 1 : -1;
    if (piece === BEGIN && isPoint) return target(createSpan(""));
    if (!(isCited || noted > 0) || !piece.trim() || SIGNS.test(piece)) return piece.replace(SIGNS, "");
    const element = document.createElement(isCited ? "mark" : "span");
    if (noted > 0) element.className = "noted";
    element.textContent = piece;
    return isCited ? target(element) : element;
  };
  for (const node of textNodesIn(drawn)) node.replaceWith(...node.data.split(SIGNS).map(draw));
}

/** @param {import("./text.js").Passage} passage */
function passageButton({ number, start, end }) {
  const button = createButton("passage", t("note_passage", { n: number }));
  Object.assign(button.dataset, { number, start, end });
  return button;
}

/** @param {Note} note */
function noteButton(note) {
  const button = createButton("note-sign", noteLabel(note));
  Object.assign(button, { textContent: "✎", title: note.text }).dataset.note = note.id;
  return button;
}

/** @param {string} className @param {string} label */
function createButton(className, label) {
  const button = Object.assign(document.createElement("button"), { className });
  button.setAttribute("aria-label", label);
  return button;
}
