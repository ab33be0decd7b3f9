/** Tables in the text of a document: lines of cells separated by bars, and rows of sheets as "Name: value". */
import { html } from "../core/html.js";
import { t } from "../core/texts.js";
import { lengthOf } from "./selection.js";

/** @typedef {{ low: number, high: number, text: string }} Line its span, without the line end */
/** @typedef {{ lead: number, low: number, high: number }} Cell its span; with its column name it begins at `lead` */
/** @typedef {{ low: number, high: number, head: (string | Cell)[], rows: (Cell | undefined)[][] }} Table */
/** @typedef {(low: number, high: number, lead?: number) => any} Draw renders a part of the text */

const SHEET = /\.(xls[xmb]?|ods|csv|tsv)$/i;
const BAR = /\s\|(?:\s|$)/g;
const RULE = /^[\s|:-]+$/;
const NAMED = /^([^:]{1,80}): ?(.*)$/s;

/**
 * Render a part of a text, with its tables as tables.
 * @param {string} source @param {string[]} chars @param {number} low @param {number} high @param {Draw} draw
 */
export function renderWithTables(source, chars, low, high, draw) {
  const lines = splitLines(chars, low, high);
  const drawn = [];
  for (let at = 0, from = low; at < lines.length; ) {
    const [table, used] = (SHEET.test(source) && readRecords(lines, at)) ||
      readBarTable(lines, at) || [null, 1];
    at += used;
    if (table) {
      drawn.push(draw(from, table.low), renderTable(table, draw));
      from = Math.min(table.high + 1, high);
    }
    if (at >= lines.length) drawn.push(draw(from, high));
  }
  return drawn;
}

/** @param {string[]} chars @param {number} low @param {number} high */
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
 * @param {Line[]} lines @param {number} at @returns {[Table, number] | null} the table, and the number of its lines
 */
function readBarTable(lines, at) {
  const after = lines.findIndex(({ text }, index) => index >= at && text.search(BAR) < 0);
  const found = lines.slice(at, after < 0 ? lines.length : after);
  const [head, ...rows] = found.filter(({ text }) => !RULE.test(text)).map(splitCells);
  if (!rows.length) return null;
  return [{ low: found[0].low, high: found[found.length - 1].high, head, rows }, found.length];
}

/** @param {Line} line @returns {Cell[]} */
function splitCells({ low, high, text }) {
  const bars = Array.from(text.matchAll(BAR), (bar) => [bar.index, bar.index + bar[0].length]);
  const starts = [0, ...bars.map(([, end]) => end)].map((at) => low + lengthOf(text.slice(0, at)));
  const ends = [...bars.map(([begin]) => low + lengthOf(text.slice(0, begin))), high];
  return starts.map((start, at) => ({ lead: ends[at - 1] ?? start, low: start, high: ends[at] }));
}

/**
 * Read a table from the rows of a sheet: each is a few lines, followed by an empty one.
 * @param {Line[]} lines @param {number} at @returns {[Table, number] | null} the table, and the number of its lines
 */
function readRecords(lines, at) {
  /** @type {string[]} */
  const head = [];
  /** @type {Cell[][]} */
  const rows = [];
  let next = at;
  let high = 0;
  for (let line = lines[next]; line && (!line.text || NAMED.test(line.text)); line = lines[++next]) {
    if (!line.text || !rows.length || !lines[next - 1].text) rows.push([]);
    const [, name, value] = NAMED.exec(line.text) ?? [];
    if (name === "Sheet") high = line.high; // it is shown above the table
    if (!name || name === "Sheet") continue;
    const column = head.includes(name) ? head.indexOf(name) : head.push(name) - 1;
    rows[rows.length - 1][column] = { lead: line.low, low: line.high - lengthOf(value), high: line.high };
    high = line.high;
  }
  const whole = rows.filter((row) => row.length);
  return whole.length > 1 ? [{ low: lines[at].low, high, head, rows: whole }, next - at] : null;
}

/** @param {Table} table @param {Draw} draw */
function renderTable({ head, rows }, draw) {
  /** @param {string | Cell | undefined} cell */
  const drawn = (cell) => (typeof cell === "object" ? draw(cell.low, cell.high, cell.lead) : cell);
  return html`<div class="scrolls" tabindex="0" role="group" aria-label=${t("document_table")}><table class="small">
    <thead><tr>${head.map((cell) => html`<th scope="col">${drawn(cell)}</th>`)}</tr></thead>
    <tbody>${rows.map((row) => html`<tr>${head.map((_, at) => html`<td>${drawn(row[at])}</td>`)}</tr>`)}</tbody>
  </table></div>`;
}
