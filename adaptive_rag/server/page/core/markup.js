/** Render the text of answers, Markdown and math, as sanitized HTML without scripts. */
import DOMPurify from "dompurify";
import { marked } from "marked";
import { MARK_PLACEHOLDER } from "./phrases.js";

// The page's Trusted Types policy. It admits only scripts in vendor/.
const scriptPolicy = window.trustedTypes?.createPolicy("adaptive-rag", {
  createScriptURL(address) {
    if (!/^\/page\/vendor\/[\w.-]+$/.test(address))
      throw new TypeError(`${address} does not belong to this page`);
    return address;
  },
});

/**
 * Return the URL of a vendored script, as a `TrustedScriptURL` if the browser has that type.
 * @param {string} name @returns {string}
 */
export function vendorUrl(name) {
  const address = `/page/vendor/${name}`;
  const trusted = /** @type {any} */ (scriptPolicy);
  return trusted ? trusted.createScriptURL(address) : address;
}

// All HTML tags but these few, which answers may contain. The others are shown as text.
const OTHER_TAGS = /<(?!\/?(?:b|i|em|strong|sub|sup|br) *\/?>)/gi;
marked.use({
  renderer: {
    html: ({ text }) => text.replace(OTHER_TAGS, "&lt;"),
    image: ({ text }) => text.replaceAll("<", "&lt;"),
    checkbox: ({ checked }) => (checked ? "☑ " : "☐ "),
  },
});

/** Return words of a document as Markdown in which no program finds an image or a tag. @param {string} text */
export const withoutImages = (text) => text.replace(/!+(?=\[)/g, "").replace(/<(?=[a-z/!?])/gi, "‹");

// The elements that Markdown produces. Images are left out: loading one would tell its host who is reading.
const ALLOWED_HTML = {
  ALLOWED_TAGS: (
    "a b blockquote br code del em h1 h2 h3 h4 h5 h6 hr i li ol p pre strong sub sup " +
    "table tbody td th thead tr ul"
  ).split(" "),
  ALLOWED_ATTR: ["align", "href", "start", "title"],
  ALLOWED_URI_REGEXP: /^(?:https?:|mailto:)/i,
  RETURN_TRUSTED_TYPE: true,
};
// What Temml produces: MathML, without links and styles.
const ALLOWED_MATH = {
  USE_PROFILES: { mathMl: true },
  FORBID_ATTR: ["class", "href", "id", "style", "xlink:href"],
  ALLOW_DATA_ATTR: false,
  RETURN_TRUSTED_TYPE: true,
};
// Inline styles, which the page's content security policy forbids.
const STYLES = / style="[^"]*"/g;

/** Render Markdown as DOM nodes. @param {string} text @returns {DocumentFragment} */
export function renderMarkdown(text) {
  const { formulas, plain } = extractMath(text);
  const fragment = sanitize(
    /** @type {string} */ (marked.parse(plain, { gfm: true, breaks: false })),
    ALLOWED_HTML,
  );
  for (const anchor of fragment.querySelectorAll("a")) {
    anchor.target = "_blank";
    anchor.rel = "noopener noreferrer nofollow";
  }
  for (const table of fragment.querySelectorAll("table")) {
    const scroller = Object.assign(document.createElement("div"), { className: "scrolls", tabIndex: 0 });
    table.replaceWith(scroller);
    scroller.append(table);
  }
  if (formulas.length) restoreMath(fragment, formulas);
  return fragment;
}

/** Return sanitized HTML as nodes. @param {string} text @param {import("dompurify").Config} allowed */
function sanitize(text, allowed) {
  const template = document.createElement("template");
  template.innerHTML = /** @type {any} */ (DOMPurify.sanitize(text, allowed));
  return template.content;
}

/**
 * Split a text at its headings: lines in bold or with "#". Code has no headings.
 * @param {string} text
 * @returns {{ heading: string, body: string }[]} the first has no heading if text precedes the first heading
 */
export function splitSections(text) {
  const sections = [{ heading: "", body: "" }];
  let isCode = false;
  for (const line of text.split("\n")) {
    if (line.startsWith("```")) isCode = !isCode;
    const heading = isCode ? null : /^(?:#{1,6}\s+(.+?)|\*\*([^*]+)\*\*:?)\s*$/.exec(line);
    if (heading) sections.push({ heading: heading[1] ?? heading[2], body: "" });
    else sections[sections.length - 1].body += `${line}\n`;
  }
  return sections.filter((section) => section.heading || section.body.trim());
}

/** Change the prose of a text, but not its code. @param {string} text @param {(prose: string) => string} change */
const mapProse = (text, change) =>
  text
    .split(CODE)
    .map((part, at) => (at % 2 ? part : change(part)))
    .join("");

/**
 * Replace the placeholder of each mark in rendered Markdown with an element.
 * @param {ParentNode} fragment @param {(part: number) => Node} createMark gets the index of the mark's part of the answer
 */
export function insertMarks(fragment, createMark) {
  replacePlaceholders(fragment, MARK_PLACEHOLDER, (placeholder, part, before) => {
    const mark = createMark(part);
    if (placeholder.parentElement?.closest("code")) return placeholder.replaceWith(`[${mark.textContent}]`);
    // Keep a mark on the line of the word or mark before it, so that no line begins with a mark.
    const word = before.splitText(before.data.search(/\S{0,30}\s*$/));
    const last = word.previousSibling?.previousSibling;
    const isSecond =
      !before.data && !word.data.trim() && last instanceof HTMLElement && last.className === "together";
    const together = isSecond ? last : createSpan("together");
    if (!isSecond) placeholder.replaceWith(together);
    word.data = word.data.replace(/\s*$/, "\u00a0");
    together.append(word, mark);
    placeholder.remove();
  });
}

/**
 * Call a function for each placeholder in a text, with its number and the text before it.
 * @param {ParentNode} fragment @param {RegExp} pattern
 * @param {(placeholder: Text, number: number, before: Text) => void} replace
 */
function replacePlaceholders(fragment, pattern, replace) {
  for (let node of textNodesIn(fragment))
    for (let match = pattern.exec(node.data); match; match = pattern.exec(node.data)) {
      const placeholder = node.splitText(match.index);
      const rest = placeholder.splitText(match[0].length);
      replace(placeholder, Number(match[1]), node);
      node = rest;
    }
}

/**
 * Wrap words of rendered Markdown in elements, one for each text node that the words span.
 * @param {ParentNode} fragment @param {string} words as Markdown @param {() => HTMLElement} createWrapper
 * @returns {HTMLElement | undefined} the last of them; undefined if the words are not found
 */
export function wrapWords(fragment, words, createWrapper) {
  /** @type {{ node: Text, at: number }[]} */
  const characters = [];
  let haystack = "";
  for (const node of textNodesIn(fragment)) {
    if (node.parentElement?.closest("button")) continue;
    for (let at = 0; at < node.length; at++) {
      if (/[\s\u2060*_`|]/.test(node.data[at])) continue;
      characters.push({ node, at });
      haystack += node.data[at];
    }
  }
  const needle = words.replace(/^\s*(?:[-*+]|\d+\.|#+)\s+/, "").replace(/[\s*_`|]/g, "");
  const start = haystack.indexOf(needle);
  if (start < 0 || !needle) return undefined;
  const matches = characters.slice(start, start + needle.length);
  let last;
  for (const node of new Set(matches.map((each) => each.node))) {
    const inside = matches.filter((each) => each.node === node);
    const range = document.createRange();
    range.setStart(node, inside[0].at);
    range.setEnd(node, inside[inside.length - 1].at + 1);
    last = createWrapper();
    range.surroundContents(last);
  }
  return last;
}

/** Return a span element. @param {string} className @param {string} [text] */
export function createSpan(className, text = "") {
  return Object.assign(document.createElement("span"), { className, textContent: text });
}

/** Return the text nodes below a node. @param {ParentNode} root */
export function textNodesIn(root) {
  const walker = document.createTreeWalker(/** @type {Node} */ (root), NodeFilter.SHOW_TEXT);
  /** @type {Text[]} */
  const texts = [];
  while (walker.nextNode()) texts.push(/** @type {Text} */ (walker.currentNode));
  return texts;
}

const MATH = /\$\$([\s\S]{1,2000}?)\$\$|\\\[([\s\S]{1,2000}?)\\\]|\\\(([\s\S]{1,500}?)\\\)/g;
const CODE = /(```[\s\S]*?(?:```|$)|`[^`\n]*`)/;
// The placeholder of a formula: private-use characters, which Markdown leaves unchanged. Those of the text itself are removed first.
const MATH_PLACEHOLDER = /\uE000(\d+)\uE001/;

/** Replace math with placeholders, because Markdown would misread it. Code is unchanged. @param {string} text */
function extractMath(text) {
  /** @type {{ source: string, isBlock: boolean }[]} */
  const formulas = [];
  const plain = mapProse(text.replace(/[\uE000\uE001]/g, ""), (prose) =>
    prose.replace(MATH, (_, block, bracket, inline) => {
      formulas.push({ source: block ?? bracket ?? inline, isBlock: inline === undefined });
      return `\uE000${formulas.length - 1}\uE001`;
    }),
  );
  return { formulas, plain };
}

/**
 * Replace the placeholders with the formulas.
 * @param {DocumentFragment} fragment @param {{ source: string, isBlock: boolean }[]} formulas
 */
function restoreMath(fragment, formulas) {
  replacePlaceholders(fragment, MATH_PLACEHOLDER, (placeholder, number) => {
    const formula = formulas[number];
    const place = document.createElement(formula.isBlock ? "div" : "span");
    if (formula.isBlock) Object.assign(place, { className: "scrolls", tabIndex: 0 });
    place.textContent = formula.source;
    placeholder.replaceWith(place);
    renderFormula(formula, place);
  });
}

/** @type {Promise<any> | undefined} */
let temml;

/**
 * Render a formula in place of its source. If it cannot be parsed, the source stays.
 * @param {{ source: string, isBlock: boolean }} formula @param {HTMLElement} place
 */
async function renderFormula({ source, isBlock }, place) {
  temml ??= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = vendorUrl("temml.min.js");
    script.onload = () => resolve(/** @type {any} */ (window).temml);
    script.onerror = () => {
      temml = undefined; // the next formula tries again
      reject();
    };
    document.head.append(script);
  });
  try {
    const mathml = (await temml).renderToString(source, {
      displayMode: isBlock,
      trust: false,
      maxExpand: 100,
    });
    place.replaceChildren(sanitize(mathml.replace(STYLES, ""), ALLOWED_MATH));
  } catch {
    place.textContent = source;
  }
}
