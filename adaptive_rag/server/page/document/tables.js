/** Tables in the text of a document: lines of cells separated by bars, and rows of sheets as "Name: value". */
import { html } from "../core/html.js";
import { t } from "../core/texts.js";
import { lengthOf } from "./selection.js";

/** @typedef {{ low: number, high: number, text: string }} Line a line and its span, without the line end */
/** @typedef {{ labelStart: number, low: number, high: number }} Cell the span of a cell; `labelStart` is where its column name begins */
/** @typedef {{ low: number, high: number, head: (string | Cell)[], rows: (Cell | undefined)[][] }} Table */
/** @typedef {(low: number, high: number, labelStart?: number) => any} RenderPart renders a part of the text */

/** Workbooks, whose sections are sheets. */
export const WORKBOOKS = /\.(xl[st][xmb]?|f?ods|ots)$/i;
const CSV = /\.(csv|tsv)$/i;
const BAR = /\s\|(?:\s|$)/g;
/** The line below a header: "|---|---|". */
const RULE = /^[\s|:-]+$/;
/** A cell of a sheet: "Price: 12". */
const NAMED_VALUE = /^([^:]{1,80}): ?(.*)$/s;

/**
 * Render a part of a text, with its tables as tables.
 * @param {string} source @param {string[]} chars @param {number} low @param {number} high @param {RenderPart} renderPart
 */
export function renderWithTables(source, chars, low, high, renderPart) {
  const lines = splitLines(chars, low, high);
  const hasRecords = WORKBOOKS.test(source) || CSV.test(source);
  const parts = [];
  for (let at = 0, from = low; at < lines.length; ) {
    const [table, lineCount] = (hasRecords && readRecords(lines, at)) || readBarTable(lines, at) || [null, 1];
    at += lineCount;
    if (table) {
      parts.push(renderPart(from, table.low), renderTable(table, renderPart));
      from = Math.min(table.high + 1, high);
    }
    if (at >= lines.length) parts.push(renderPart(from, high));
  }
  return parts;
}

/** Return the lines of a part of a text. @param {string[]} chars @param {number} low @param {number} high */
function splitLines(chars, low, high) {
  /** @type {Line[]} */
  const lines = [];
  for (let at = low; at < high; at = lines[lines.length - 1].high + 1) {
    const end = chars.indexOf("\n", at);
    const stop = end < 0 || end > high ? high : end;
    lines.push({ low: at, high: stop, text: chars.slice(at, stop).join("") });
  }
  return lines;
}

/**
 * Read a table from lines with bars, the first of which is the header.
 * @param {Line[]} lines @param {number} first the line to begin at
 * @returns {[Table, number] | null} the table, and the number of its lines
 */
function readBarTable(lines, first) {
  const after = lines.findIndex(({ text }, index) => index >= first && text.search(BAR) < 0);
  const tableLines = lines.slice(first, after < 0 ? lines.length : after);
  const [head, ...rows] = tableLines.filter(({ text }) => !RULE.test(text)).map(splitCells);
  if (!rows.length) return null;
  return [
    { low: tableLines[0].low, high: tableLines[tableLines.length - 1].high, head, rows },
    tableLines.length,
  ];
}

/** Split a line at its bars. @param {Line} line @returns {Cell[]} */
function splitCells({ low, high, text }) {
  const bars = Array.from(text.matchAll(BAR), (bar) => [bar.index, bar.index + bar[0].length]);
  const starts = [0, ...bars.map(([, end]) => end)].map((at) => low + lengthOf(text.slice(0, at)));
  const ends = [...bars.map(([begin]) => low + lengthOf(text.slice(0, begin))), high];
  return starts.map((start, at) => ({ labelStart: ends[at - 1] ?? start, low: start, high: ends[at] }));
}

/**
 * Read a table from the rows of a sheet: each is a few lines, followed by an empty one.
 * @param {Line[]} lines @param {number} first the line to begin at
 * @returns {[Table, number] | null} the table, and the number of its lines
 */
function readRecords(lines, first) {
  /** @type {string[]} */
  const head = [];
  /** @type {Cell[][]} */
  const rows = [];
  let next = first;
  let high = 0;
  for (let line = lines[next]; line && (!line.text || NAMED_VALUE.test(line.text)); line = lines[++next]) {
    if (!line.text || !rows.length || !lines[next - 1].text) rows.push([]);
    const [, name, value] = NAMED_VALUE.exec(line.text) ?? [];
    if (name === "Sheet") high = line.high; // the name of the sheet is shown above the table
    if (!name || name === "Sheet") continue;
    const column = head.includes(name) ? head.indexOf(name) : head.push(name) - 1;
    high = line.high;
    rows[rows.length - 1][column] = { labelStart: line.low, low: high - lengthOf(value), high };
  }
  const records = rows.filter((row) => row.length);
  return records.length > 1 ? [{ low: lines[first].low, high, head, rows: records }, next - first] : null;
}

/** @param {Table} table @param {RenderPart} renderPart */
function renderTable({ head, rows }, renderPart) {
  /** @param {string | Cell | undefined} cell */
  const renderCell = (cell) =>
    typeof cell === "object" ? renderPart(cell.low, cell.high, cell.labelStart) : cell;
  return html`<div class="scrolls" tabindex="0" role="group" aria-label=${t("document_table")}><table class="small">
    <thead><tr>${head.map((cell) => html`<th scope="col">${renderCell(cell)}</th>`)}</tr></thead>
    <tbody>${rows.map((row) => html`<tr>${head.map((_, at) => html`<td>${renderCell(row[at])}</td>`)}</tr>`)}</tbody>
  </table></div>`;
}
