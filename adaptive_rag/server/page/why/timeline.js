/** What each step did: its duration, queries and decisions, and the passages that it kept. */
import { html, useState } from "../core/html.js";
import { formatReasons } from "../core/phrases.js";
import { formatDuration, formatPercent, labelFor, language, t } from "../core/texts.js";
import { openDocument } from "../document/opened.js";
import { ServerMessage } from "../shell/notices.js";
import { laneStyle, strategiesOf } from "./route_graph.js";

const MAX_FOLDED = 5;
const DIGITS = { minimumFractionDigits: 2, maximumFractionDigits: 2 };
/** Scores in the order in which a candidate gets them. It is kept or left out by the last one. */
const SCORES = ["dense", "sparse", "words", "fused", "relevance", "judged"];

/**
 * Return the duration of the steps in milliseconds. Strategies and branches run in parallel.
 * @param {StepEvent[]} steps
 */
export function totalDuration(steps) {
  /** @type {Record<string, Record<string, number>>} */
  const lanes = {};
  for (const { strategy, name, record } of steps) {
    lanes[strategy ?? ""] ??= {};
    const lane = lanes[strategy ?? ""];
    lane[name] = Math.max(lane[name] ?? 0, record?.ms ?? 0);
  }
  const { "": around = {}, hedge = {}, ...beside } = lanes;
  const sum = (/** @type {Record<string, number>} */ lane) =>
    Object.values(lane).reduce((all, ms) => all + ms, 0);
  return sum(around) + sum(hedge) + Math.max(0, ...Object.values(beside).map(sum));
}

/** @param {{ turn: Turn }} props */
export function Timeline({ turn }) {
  const done = turn.steps.filter((step) => step.record);
  const longest = Math.max(...done.map((step) => step.record?.ms ?? 0), 1);
  return html`<div class="stack">
    <h3>${t("what_was_done")}</h3>
    <ol class="plain stack timeline">
      ${done.map((step) => html`<${Step} key=${step.id} turn=${turn} step=${step} longest=${longest} />`)}
    </ol>
  </div>`;
}

/** @param {{ turn: Turn, step: StepEvent, longest: number }} props */
function Step({ turn, step, longest }) {
  const record = /** @type {TraceRecord} */ (step.record);
  const { ms = 0, queries = [], decisions = [], stand_ins = [], candidates = [] } = record;
  const isBare = (/** @type {Decision} */ { why }) => /\d\.\d/.test(why);
  // The bars above already show "factual at 0.96".
  const figures = decisions.filter((each) => each.what !== "type" && isBare(each));
  const lane = step.strategy && step.strategy !== "hedge" ? step.strategy : null;
  const isFinal = step === turn.steps.filter((each) => each.record?.candidates).at(-1);
  return html`<li style=${laneStyle(lane ?? "accent")}>
    <div class="step-line">
      <span class="row"><b>${labelFor("step", step.name)}</b>${lane && strategiesOf(turn).length > 1 && html`<span class="badge">${labelFor("", lane)}</span>`}</span>
      <span class="bar" aria-hidden="true"><span style=${{ inlineSize: `${(ms / longest) * 100}%` }}></span></span>
      <span class="number">${formatDuration(ms)}</span>
    </div>
    <ul class="plain small">
      ${queries.map((query) => html`<li>${t("searched")} <q>${query}</q></li>`)}
      ${decisions.map((each) => html`<li>${labelFor("what", each.what)}: <b>${describeChoice(each)}</b>${!isBare(each) && html` <${ServerMessage} class="soft" of=${formatReasons(each)} />`}</li>`)}
      ${stand_ins.map((each) => html`<li>${t("local_way", { step: labelFor("step", each.skill) })} <${ServerMessage} class="soft" of=${formatReasons(each)} /></li>`)}
      ${describeModelCalls(record) && html`<li>${describeModelCalls(record)}</li>`}
    </ul>
    ${figures.length > 0 && html`<details class="small"><summary>${t("details")}</summary><ul class="plain soft">${figures.map((each) => html`<li><${ServerMessage} class="soft" of=${formatReasons(each)} /></li>`)}</ul></details>`}
    ${candidates.length > 0 && html`<details open=${isFinal}><summary class="small">${t("candidates", { n: candidates.length })}</summary><${Candidates} turn=${turn} step=${step} /></details>`}
  </li>`;
}

/** @param {TraceRecord} record */
function describeModelCalls({ calls, tokens = {}, cost }) {
  const counts = Object.entries(tokens).map(([kind, n]) =>
    t("tokens_used", { kind: labelFor("tokens", kind), n }),
  );
  const price = cost === undefined ? [] : [t("cost", { cost })];
  return calls ? [t("model_calls", { n: calls }), ...counts, ...price].join(" · ") : "";
}

/** Return what a step chose, without the figures that only "Details" shows. @param {Decision} decision @returns {string} */
function describeChoice({ what, chosen }) {
  const meaning = what === "fusion" ? Number(String(chosen).split("alpha ")[1]) : Number.NaN;
  if (meaning >= 0)
    return t("fusion_shares", { meaning: formatPercent(meaning), words: formatPercent(1 - meaning) });
  if (what === "type" || what === "hedge")
    return [chosen]
      .flat()
      .map((name) => labelFor("", String(name)))
      .join(", ");
  if (what !== "sides") return formatChoice(chosen);
  const { found = [], missing } = /** @type {{ found: string[], missing: string | null }} */ (chosen);
  const sides = found.map((side) => labelFor("side", side)).join(", ");
  return missing ? t("side_missing", { sides, missing: labelFor("side", missing) }) : sides;
}

/** @param {unknown} chosen @returns {string} */
function formatChoice(chosen) {
  if (Array.isArray(chosen)) return chosen.map(formatChoice).join(", ");
  if (chosen === null) return "–";
  if (typeof chosen === "object")
    return formatChoice(Object.entries(chosen).map(([key, value]) => `${key}: ${formatChoice(value)}`));
  return typeof chosen === "number"
    ? chosen.toLocaleString(language.value)
    : labelFor("chosen", String(chosen));
}

/** @param {{ turn: Turn, step: StepEvent }} props a step that has candidates */
function Candidates({ turn, step }) {
  const [isWhole, setWhole] = useState(false);
  const { candidates = [], decisions = [] } = /** @type {TraceRecord} */ (step.record);
  const before = turn.steps
    .filter((each) => each !== step && each.strategy === step.strategy)
    .flatMap((each) => each.record?.candidates?.map(({ id }, at) => ({ id, rank: at + 1 })) ?? []);
  const read = turn.passages.flatMap((each) => [each, ...(each.parts ?? [])]);
  const isRead = new Set(read.map(({ id }) => id));
  const window = decisions.find(({ what }) => what === "window");
  const scores = SCORES.filter((name) => candidates.some((each) => name in each.scores));
  const few = isWhole ? candidates : candidates.slice(0, MAX_FOLDED);
  return html`<div class="scrolls" tabindex="0" role="group" aria-label=${t("candidates", { n: candidates.length })}>
      <table class="small candidates">
        <thead><tr>
          <th scope="col">${t("rank")}</th><th scope="col">${t("passage_of")}</th>
          ${scores.map((name) => html`<th scope="col" class="number">${labelFor("score", name)}</th>`)}
          <th scope="col">${t("fate")}</th>
        </tr></thead>
        <tbody>
          ${few.map((each, at) => {
            const was = before.find(({ id }) => id === each.id)?.rank;
            const passage = read.find(({ id }) => id === each.id);
            const { source, page } = each;
            const place = { source, page, start: passage?.start ?? 0, end: passage?.end ?? 0, quote: "" };
            return html`<tr key=${each.id} class=${passage ? "" : "soft"}>
              <td>${at + 1} ${was && was !== at + 1 && html`<span class="soft">${was > at + 1 ? "↑" : "↓"} ${t("was", { was })}</span>`}</td>
              <td><button class="link" onClick=${() => openDocument(turn.collections, place)}>${source}${page && `, ${t("place_page", { n: page })}`}</button></td>
              ${scores.map((name) => html`<td class="number">${each.scores[name]?.toLocaleString(language.value, DIGITS)}</td>`)}
              <td>${passage ? t("was_read") : t("was_dropped")}</td>
            </tr>`;
          })}
        </tbody>
      </table>
    </div>
    <p class="small soft">
      ${window && candidates.some(({ id }) => !isRead.has(id)) && html`${t("why_dropped")} <${ServerMessage} of=${formatReasons(window)} />. `}
      ${candidates.length > MAX_FOLDED && html`<button class="quiet small" aria-expanded=${isWhole} onClick=${() => setWhole(!isWhole)}>${isWhole ? t("show_fewer") : t("show_all", { n: candidates.length })}</button>`}
    </p>`;
}
