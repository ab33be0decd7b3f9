/** Completion of a condition: names of fields, their values, and the words between comparisons. */

/** The text up to the value of a comparison: "kind = ", "kind in (pdf, ". */
const BEFORE_VALUE =
  /(?:^|[\s(])([\p{L}_][\p{L}\p{N}_.-]*|`[^`]+`)\s*(?:!=|<=|>=|=|<|>|\slike\s|\s(?:not\s+)?in\s*\((?:[^()]*,)?)\s*$/iu;
/** The text up to the name of a field: "", "kind = pdf and ", "(". */
const BEFORE_FIELD = /(?:^|\(|\b(?:and|or|not))\s*$/i;
const QUOTED = /"[^"]*"|'[^']*'|`[^`]*`/g;
/** The word that is being typed, which may have an opening quote. */
const LAST_WORD = /(?:["'`].*|[^\s()=<>!,"'`]*)$/;
/** Names and values that need no quotes: "report-2024", "3.5", "2024-05". */
const IS_PLAIN = /^(?:[\p{L}_][\p{L}\p{N}_.-]*|-?\d+(?:\.\d+)?|\d{4}-\d{2}(?:-\d{2})?)$/u;
const MAX_COMPLETIONS = 20;

/**
 * Return the completions of the last word of a condition, each with the whole condition that it results in.
 * @param {string} typed @param {ConditionField[]} fields @returns {[word: string, condition: string][]}
 */
export function completeCondition(typed, fields) {
  const before = typed.slice(
    0,
    LAST_WORD.exec(typed.replace(QUOTED, (text) => "_".repeat(text.length)))?.index,
  );
  const word = typed.slice(before.length);
  const prefix = word.replace(/^["'`]/, "").toLowerCase();
  const fieldName = BEFORE_VALUE.exec(before)?.[1].replaceAll("`", "").toLowerCase();
  /** @type {string[]} */
  let completions = ["and ", "or "];
  if (fieldName !== undefined) {
    const values = fields.find(({ name }) => name.toLowerCase() === fieldName)?.values ?? [];
    completions = values.filter((value) => `${value}`.toLowerCase().includes(prefix)).map(quoteValue);
  } else if (BEFORE_FIELD.test(before)) {
    const matching = fields.filter(({ name }) => name.toLowerCase().includes(prefix));
    completions = matching.map(({ name }) => `${IS_PLAIN.test(name) ? name : `\`${name}\``} = `);
  } else if (!/\s$/.test(before) || prefix) return [];
  return completions
    .slice(0, MAX_COMPLETIONS)
    .map((each) => /** @type {[string, string]} */ ([each, before + each]))
    .filter(([, condition]) => condition !== typed);
}

/** Return a value as it is written in a condition. @param {ConditionField["values"][0]} value */
function quoteValue(value) {
  if (typeof value === "boolean") return value ? "yes" : "no";
  const text = `${value}`;
  if (IS_PLAIN.test(text) && !/^(?:and|or|not|in|like|is|known)$/i.test(text)) return text;
  return text.includes('"') ? `'${text.replaceAll("'", "")}'` : `"${text}"`;
}
