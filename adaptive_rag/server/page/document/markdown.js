/** Render a part of a Markdown document, with its cited words and passages marked. */
import { html, useElement, useLayoutEffect } from "../core/html.js";
import { made, renderMarkdown, textsOf } from "../core/markup.js";

// Signs of private-use characters, which Markdown passes through: start and end of the cited words, and a passage.
const [BEGIN, END, PASSAGE] = ["\uE002", "\uE003", "\uE004"];
const SIGNS = /([\uE002\uE003]|\uE004\d+\uE004)/;
// Markdown syntax at the start of a line and at the end of words. A sign in the wrong place would break it.
const OPENING = /^(?:[ \t]*(?:#{1,6} |>|[-*+] |\d+[.)] |\||[`~]{3,}[^\n]*\n))*[ \t]*[*_~]*/;
const CLOSING = /[\s|*_~]*$/;

/**
 * @param {{ all: string[], low: number, high: number, begin: number, end: number, passages: Map<number, number> }} props
 *   the part is `all` from `low` to `high`; `begin` and `end` of the citation and the passages count from `low`
 */
export function MarkdownText({ all, low, high, begin, end, passages }) {
  const place = useElement();
  useLayoutEffect(() => {
    const drawn = renderMarkdown(signed(all.slice(low, high), begin, end, passages));
    for (const heading of drawn.querySelectorAll("h1, h2, h4, h5, h6")) {
      const third = document.createElement("h3");
      third.append(...heading.childNodes);
      heading.replaceWith(third);
    }
    drawSigns(drawn, begin === end);
    place.current.replaceChildren(drawn);
  }, [all, low, high, begin, end, passages.size]);
  return html`<div class="markdown" ref=${place}></div>`;
}

/** @param {string[]} chars @param {number} begin @param {number} end @param {Map<number, number>} passages */
function signed(chars, begin, end, passages) {
  const signs = [...passages].map(([at, number]) => ({ at, sign: PASSAGE + number + PASSAGE }));
  const first = begin < 0 && end > 0 ? 0 : begin; // the citation began before this part
  if (first >= 0 && first < chars.length) signs.push({ at: first, sign: BEGIN });
  let text = "";
  let from = 0;
  for (const { at, sign } of [...signs, { at: end, sign: END }].sort((one, other) => one.at - other.at)) {
    if (at < 0 || at > chars.length) continue;
    const before = chars.slice(from, at).join("");
    const [lead] = sign === END ? [""] : (OPENING.exec(chars.slice(at).join("")) ?? [""]);
    const tail = sign === END ? (CLOSING.exec(before)?.[0] ?? "") : "";
    text += before.slice(0, before.length - tail.length) + lead + sign + tail;
    from = at + Array.from(lead).length;
  }
  return text + chars.slice(from).join("");
}

/** @param {DocumentFragment} drawn @param {boolean} isPoint */
function drawSigns(drawn, isPoint) {
  let [isCited, isFirst] = [false, true];
  /** @param {HTMLElement} element */
  const target = (element) => {
    if (isFirst) Object.assign(element, { tabIndex: -1 }).dataset.target = "true";
    isFirst = false;
    return element;
  };
  for (const node of textsOf(drawn)) {
    const pieces = node.data.split(SIGNS).map((piece) => {
      if (piece[0] === PASSAGE) {
        const passage = made("passage");
        passage.dataset.number = piece.slice(1, -1);
        return passage;
      }
      if (piece === BEGIN || piece === END) isCited = piece === BEGIN;
      if (piece === BEGIN && isPoint) return target(made(""));
      if (!isCited || !piece.trim() || SIGNS.test(piece)) return piece.replace(SIGNS, "");
      return target(Object.assign(document.createElement("mark"), { textContent: piece }));
    });
    node.replaceWith(...pieces);
  }
}
