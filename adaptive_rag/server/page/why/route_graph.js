/** The graph of the strategies, with the path of a question. */
import { get } from "../core/api.js";
import { classes, html } from "../core/html.js";
import { labelFor, t } from "../core/texts.js";
import { Loading, readOnce, useLoaded } from "../shell/loaded.js";

/** @typedef {"waiting" | "running" | "done" | "skipped"} State */

const readStrategies = readOnce(/** @returns {Promise<Strategies>} */ () => get("/strategies"));

/** Return the server's strategies. They are read only once. */
export const useStrategies = () => useLoaded(() => readStrategies(0));

/** @param {Turn} turn @returns {string[]} the strategies of its question; empty until they are known */
export function strategiesOf({ analysis }) {
  return analysis ? [analysis.type, ...analysis.alternatives] : [];
}

/** @param {string} lane @param {string} colour for a strategy that has none in the page's style */
export function laneStyle(lane, colour = "var(--accent)") {
  return { "--lane": `var(--${lane}, ${colour})` };
}

/** @param {Turn} turn @param {string} name @param {string | null} strategy @returns {State} */
function stateOf(turn, name, strategy) {
  const found = turn.steps.filter((step) => step.name === name && step.strategy === strategy);
  const isOver = turn.state !== "running";
  if (found.some((step) => step.state === "started")) return isOver ? "skipped" : "running";
  if (found.length) return "done";
  const isOff = strategy && turn.analysis && !strategiesOf(turn).includes(strategy);
  const isAlone = strategy === "hedge" && strategiesOf(turn).length === 1;
  return isOver || isOff || isAlone ? "skipped" : "waiting";
}

const ROW = 22;

/** @param {{ turn: Turn }} props */
export function RouteGraph({ turn }) {
  const loaded = useStrategies();
  const graph = loaded.value;
  if (!graph) return html`<div class="way"><${Loading} of=${loaded} /></div>`;
  const middle = (graph.strategies.length * ROW) / 2;
  return html`<svg class="way" aria-hidden="true" height=${2 * middle}>
      ${graph.strategies.map((lane, row) => {
        const y = (row + 0.5) * ROW;
        const state = strategiesOf(turn).includes(lane.name) ? "taken" : turn.analysis && "left";
        return html`<g key=${lane.name} class=${classes("lane", state)} style=${laneStyle(lane.name, lane.colour)}>
          <line x1="11%" y1=${middle} x2="14%" y2=${y} /><line x1="14%" y1=${y} x2="82%" y2=${y} />
          <line x1="82%" y1=${y} x2="85%" y2=${middle} />
          <text x="15%" y=${y + 4}>${labelFor("", lane.name)}</text>
          ${lane.steps.map((step, at) => html`<${StepDot} key=${step} x=${40 + (at * 43) / lane.steps.length} y=${y} name=${step} state=${stateOf(turn, step, lane.name)} />`)}
        </g>`;
      })}
      <line x1="85%" y1=${middle} x2="89%" y2=${middle} />
      <${StepDot} x=${11} y=${middle} name=${graph.first} isFirst state=${stateOf(turn, graph.first, null)} />
      <${StepDot} x=${85} y=${middle} name="" state=${stateOf(turn, graph.join, "hedge")} />
      <${StepDot} x=${89} y=${middle} name=${graph.last} state=${stateOf(turn, graph.last, null)} />
    </svg>
    <ol class="unseen" aria-label=${t("way")}>
      ${listSteps(graph, turn).map(([name, lane]) => {
        const words = { step: labelFor("step", name), state: t(`state_${stateOf(turn, name, lane)}`) };
        return html`<li>${lane && lane !== "hedge" && `${labelFor("", lane)}: `}${t("step_state", words)}</li>`;
      })}
    </ol>`;
}

/** @param {Strategies} graph @param {Turn} turn @returns {[string, string | null][]} the steps of the question, with their strategies */
function listSteps({ first, strategies, join, last }, turn) {
  const lanes = strategies.filter((lane) => strategiesOf(turn).includes(lane.name));
  const steps = lanes.flatMap((lane) => lane.steps.map((step) => [step, lane.name]));
  const joined = lanes.length > 1 ? [[join, "hedge"]] : [];
  return /** @type {[string, string | null][]} */ ([[first, null], ...steps, ...joined, [last, null]]);
}

/** @param {{ x: number, y: number, name: string, state: State, isFirst?: boolean }} props x in percent */
function StepDot({ x, y, name, state, isFirst }) {
  return html`<g class=${`stop ${state}`}>
    <circle cx="${x}%" cy=${y} r="5" />
    <text x="${x}%" dx=${isFirst ? -10 : 10} y=${y + 4} text-anchor=${isFirst ? "end" : "start"}>${name && labelFor("step", name)}</text>
  </g>`;
}
