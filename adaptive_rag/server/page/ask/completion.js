/** Completion of a condition: the fields that there are, their values, and the words between them. */

/** The text up to the value of a comparison: "kind = ", "kind in (pdf, ". */
const BEFORE_VALUE =
  /(?:^|[\s(])([\p{L}_][\p{L}\p{N}_.-]*|`[^`]+`)\s*(?:!=|<=|>=|=|<|>|\slike\s|\s(?:not\s+)?in\s*\((?:[^()]*,)?)\s*$/iu;
const BEFORE_FIELD = /(?:^|\(|\b(?:and|or|not))\s*$/i;
const QUOTED = /"[^"]*"|'[^']*'|`[^`]*`/g;
const LAST_WORD = /(?:["'`].*|[^\s()=<>!,"'`]*)$/;
const IS_PLAIN = /^(?:[\p{L}_][\p{L}\p{N}_.-]*|-?\d+(?:\.\d+)?|\d{4}-\d{2}(?:-\d{2})?)$/u;
const MAX_COMPLETIONS = 20;

/**
 * Return what the last word of a condition can become, each with the whole text that it makes.
 * @param {string} typed @param {ConditionField[]} fields @returns {[word: string, whole: string][]}
 */
export function completeCondition(typed, fields) {
  const before = typed.slice(
    0,
    LAST_WORD.exec(typed.replace(QUOTED, (text) => "_".repeat(text.length)))?.index,
  );
  const word = typed.slice(before.length);
  const begun = word.replace(/^["'`]/, "").toLowerCase();
  const compared = BEFORE_VALUE.exec(before)?.[1].replaceAll("`", "").toLowerCase();
  /** @type {string[]} */
  let next = ["and ", "or "];
  if (compared !== undefined) {
    const values = fields.find(({ name }) => name.toLowerCase() === compared)?.values ?? [];
    next = values.filter((value) => `${value}`.toLowerCase().includes(begun)).map(quoteValue);
  } else if (BEFORE_FIELD.test(before)) {
    const found = fields.filter(({ name }) => name.toLowerCase().includes(begun));
    next = found.map(({ name }) => `${IS_PLAIN.test(name) ? name : `\`${name}\``} = `);
  } else if (!/\s$/.test(before) || begun) return [];
  return next
    .slice(0, MAX_COMPLETIONS)
    .map((each) => /** @type {[string, string]} */ ([each, before + each]))
    .filter(([, whole]) => whole !== typed);
}

/** @param {ConditionField["values"][0]} value */
function quoteValue(value) {
  if (typeof value === "boolean") return value ? "yes" : "no";
  const text = `${value}`;
  if (IS_PLAIN.test(text) && !/^(?:and|or|not|in|like|is|known)$/i.test(text)) return text;
  return text.includes('"') ? `'${text.replaceAll("'", "")}'` : `"${text}"`;
}
