/** What each step did: its duration, queries and decisions, and the passages that it kept. */
import { html, useState } from "../core/html.js";
import { formatReasons } from "../core/phrases.js";
import { formatDuration, formatPercent, labelFor, labelledCodes, language, t } from "../core/texts.js";
import { openDocument } from "../document/opened.js";
import { ServerMessage } from "../shell/notices.js";
import { useLaneStyle } from "../shell/strategies.js";
import { strategiesOf } from "./route_graph.js";

const MAX_FOLDED = 5;
const SCORE_FORMAT = { minimumFractionDigits: 2, maximumFractionDigits: 2 };

/** Return the time that all steps took, in milliseconds. Strategies and branches run in parallel. @param {StepEvent[]} steps */
export function totalDuration(steps) {
  /** @type {Record<string, Record<string, number>>} */
  const lanes = {};
  for (const { strategy, name, record } of steps) {
    lanes[strategy ?? ""] ??= {};
    const lane = lanes[strategy ?? ""];
    lane[name] = Math.max(lane[name] ?? 0, record?.ms ?? 0);
  }
  const { "": shared = {}, hedge = {}, ...parallel } = lanes;
  const sum = (/** @type {Record<string, number>} */ lane) =>
    Object.values(lane).reduce((all, ms) => all + ms, 0);
  return sum(shared) + sum(hedge) + Math.max(0, ...Object.values(parallel).map(sum));
}

/** @param {{ turn: Turn }} props */
export function Timeline({ turn }) {
  const finished = turn.steps.filter((step) => step.record);
  const longest = Math.max(...finished.map((step) => step.record?.ms ?? 0), 1);
  return html`<div class="stack">
    <h3>${t("what_was_done")}</h3>
    <ol class="plain stack timeline">
      ${finished.map((step) => html`<${Step} key=${step.id} turn=${turn} step=${step} longest=${longest} />`)}
    </ol>
  </div>`;
}

/** @param {{ turn: Turn, step: StepEvent, longest: number }} props */
function Step({ turn, step, longest }) {
  const record = /** @type {TraceRecord} */ (step.record);
  const { ms = 0, queries = [], decisions = [], stand_ins = [], candidates = [] } = record;
  // A reason with figures, such as "0.597 is below 0.6", is shown under "Details" only.
  const hasFigures = (/** @type {Decision} */ { why }) => /\d\.\d/.test(why);
  // The bars above the timeline already show "factual at 0.96".
  const figures = decisions.filter((each) => each.what !== "type" && hasFigures(each));
  const laneStyle = useLaneStyle();
  const lane = step.strategy && step.strategy !== "hedge" ? step.strategy : null;
  const isFinal = step === turn.steps.filter((each) => each.record?.candidates).at(-1);
  return html`<li style=${laneStyle(lane)}>
    <div class="step-line">
      <span class="row"><b>${labelFor("step", step.name)}</b>${lane && strategiesOf(turn).length > 1 && html`<span class="badge">${labelFor("strategy", lane)}</span>`}</span>
      <span class="bar" aria-hidden="true"><span style=${{ inlineSize: `${(ms / longest) * 100}%` }}></span></span>
      <span class="number">${formatDuration(ms)}</span>
    </div>
    <ul class="plain small">
      ${queries.map((query) => html`<li>${t("searched")} <q>${query}</q></li>`)}
      ${decisions.map((each) => html`<li>${labelFor("decision", each.what)}: <b>${describeChoice(each)}</b>${!hasFigures(each) && html` <${ServerMessage} class="soft" message=${formatReasons(each)} />`}</li>`)}
      ${stand_ins.map((each) => html`<li>${t("local_way", { step: labelFor("step", each.skill) })} <${ServerMessage} class="soft" message=${formatReasons(each)} /></li>`)}
      ${describeModelCalls(record) && html`<li>${describeModelCalls(record)}</li>`}
    </ul>
    ${figures.length > 0 && html`<details class="small"><summary>${t("details")}</summary><ul class="plain soft">${figures.map((each) => html`<li><${ServerMessage} class="soft" message=${formatReasons(each)} /></li>`)}</ul></details>`}
    ${candidates.length > 0 && html`<details open=${isFinal}><summary class="small">${t("candidates", { n: candidates.length })}</summary><${Candidates} turn=${turn} step=${step} /></details>`}
  </li>`;
}

/** Return the model calls of a step in words, with tokens and cost; "" if there were none. @param {TraceRecord} record */
function describeModelCalls({ calls, tokens = {}, cost }) {
  const counts = Object.entries(tokens).map(([kind, n]) =>
    t("tokens_used", { kind: labelFor("tokens", kind), n }),
  );
  const price = cost === undefined ? [] : [t("cost", { cost })];
  return calls ? [t("model_calls", { n: calls }), ...counts, ...price].join(" · ") : "";
}

/** Return in words what a step chose. @param {Decision} decision @returns {string} */
function describeChoice({ what, chosen, alpha }) {
  if (alpha !== undefined)
    return t("fusion_shares", { meaning: formatPercent(alpha), words: formatPercent(1 - alpha) });
  if (what === "type" || what === "hedge")
    return [chosen]
      .flat()
      .map((name) => labelFor("strategy", String(name)))
      .join(", ");
  if (what !== "sides") return formatChoice(chosen);
  const { found = [], missing } = /** @type {{ found: string[], missing: string | null }} */ (chosen);
  const sides = found.map((side) => labelFor("side", side)).join(", ");
  return missing ? t("side_missing", { sides, missing: labelFor("side", missing) }) : sides;
}

/** Return any value in words. @param {unknown} chosen @returns {string} */
function formatChoice(chosen) {
  if (Array.isArray(chosen)) return chosen.map(formatChoice).join(", ");
  if (chosen === null) return "–";
  if (typeof chosen === "object")
    return formatChoice(Object.entries(chosen).map(([key, value]) => `${key}: ${formatChoice(value)}`));
  return typeof chosen === "number"
    ? chosen.toLocaleString(language.value)
    : labelFor("choice", String(chosen));
}

/**
 * Show the candidates of a step with their ranks and scores, and which the answer was made from.
 * @param {{ turn: Turn, step: StepEvent }} props
 */
function Candidates({ turn, step }) {
  const [isUnfolded, setUnfolded] = useState(false);
  const { candidates = [], decisions = [] } = /** @type {TraceRecord} */ (step.record);
  const earlier = turn.steps
    .filter((each) => each !== step && each.strategy === step.strategy)
    .flatMap((each) => each.record?.candidates?.map(({ id }, at) => ({ id, rank: at + 1 })) ?? []);
  const passages = turn.passages.flatMap((each) => [each, ...(each.parts ?? [])]);
  const readIds = new Set(passages.map(({ id }) => id));
  const window = decisions.find(({ what }) => what === "window");
  const scores = labelledCodes("score").filter((name) => candidates.some((each) => name in each.scores));
  const listed = isUnfolded ? candidates : candidates.slice(0, MAX_FOLDED);
  return html`<div class="scrolls" tabindex="0" role="group" aria-label=${t("candidates", { n: candidates.length })}>
      <table class="small candidates">
        <thead><tr>
          <th scope="col">${t("rank")}</th><th scope="col">${t("passage_of")}</th>
          ${scores.map((name) => html`<th scope="col" class="number">${labelFor("score", name)}</th>`)}
          <th scope="col">${t("fate")}</th>
        </tr></thead>
        <tbody>
          ${listed.map((each, at) => {
            const was = earlier.find(({ id }) => id === each.id)?.rank;
            const passage = passages.find(({ id }) => id === each.id);
            const { source, page } = each;
            const place = { source, page, start: passage?.start ?? 0, end: passage?.end ?? 0, quote: "" };
            return html`<tr key=${each.id} class=${passage ? "" : "soft"}>
              <td>${at + 1} ${was && was !== at + 1 && html`<span class="soft">${was > at + 1 ? "↑" : "↓"} ${t("was", { was })}</span>`}</td>
              <td><button class="link" onClick=${() => openDocument(turn.collections, place)}>${source}${page && `, ${labelFor("place", "page", { page })}`}</button></td>
              ${scores.map((name) => html`<td class="number">${each.scores[name]?.toLocaleString(language.value, SCORE_FORMAT)}</td>`)}
              <td>${passage ? t("was_read") : t("was_dropped")}</td>
            </tr>`;
          })}
        </tbody>
      </table>
    </div>
    <p class="small soft">
      ${window && candidates.some(({ id }) => !readIds.has(id)) && html`${t("why_dropped")} <${ServerMessage} message=${formatReasons(window)} />. `}
      ${candidates.length > MAX_FOLDED && html`<button class="quiet small" aria-expanded=${isUnfolded} onClick=${() => setUnfolded(!isUnfolded)}>${isUnfolded ? t("show_fewer") : t("show_all", { n: candidates.length })}</button>`}
    </p>`;
}
