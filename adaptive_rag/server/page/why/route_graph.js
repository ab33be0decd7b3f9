/** The graph of the strategies, with the path of a question. */
import { classes, html } from "../core/html.js";
import { labelFor, t } from "../core/texts.js";
import { Loading } from "../shell/loaded.js";
import { useLaneStyle, useStrategies } from "../shell/strategies.js";

/** @typedef {"waiting" | "running" | "done" | "skipped"} StepState */

/** Return the strategies of a question; none until the router has chosen. @param {Turn} turn @returns {string[]} */
export function strategiesOf({ analysis }) {
  return analysis ? [analysis.type, ...analysis.alternatives] : [];
}

/** Return the state of a step. @param {Turn} turn @param {string} name @param {string | null} strategy @returns {StepState} */
function stepState(turn, name, strategy) {
  const events = turn.steps.filter((step) => step.name === name && step.strategy === strategy);
  const isOver = turn.state !== "running";
  if (events.some((step) => step.state === "started")) return isOver ? "skipped" : "running";
  if (events.length) return "done";
  const isNotTaken = strategy && turn.analysis && !strategiesOf(turn).includes(strategy);
  const isAlone = strategy === "hedge" && strategiesOf(turn).length === 1;
  return isOver || isNotTaken || isAlone ? "skipped" : "waiting";
}

/** Pixels between two strategies. */
const ROW_HEIGHT = 22;

/**
 * Draw the strategies and their steps, with the path of a question marked; also as a list for screen readers.
 * @param {{ turn: Turn }} props
 */
export function RouteGraph({ turn }) {
  const loaded = useStrategies();
  const laneStyle = useLaneStyle();
  const graph = loaded.value;
  if (!graph) return html`<div class="way"><${Loading} data=${loaded} /></div>`;
  const middle = (graph.strategies.length * ROW_HEIGHT) / 2;
  return html`<svg class="way" aria-hidden="true" height=${2 * middle}>
      ${graph.strategies.map((lane, row) => {
        const y = (row + 0.5) * ROW_HEIGHT;
        const state = strategiesOf(turn).includes(lane.name) ? "taken" : turn.analysis && "left";
        return html`<g key=${lane.name} class=${classes("lane", state)} style=${laneStyle(lane.name)}>
          <line x1="11%" y1=${middle} x2="14%" y2=${y} /><line x1="14%" y1=${y} x2="82%" y2=${y} />
          <line x1="82%" y1=${y} x2="85%" y2=${middle} />
          <text x="15%" y=${y + 4}>${labelFor("strategy", lane.name)}</text>
          ${lane.steps.map((step, at) => html`<${StepDot} key=${step} x=${40 + (at * 43) / lane.steps.length} y=${y} name=${step} state=${stepState(turn, step, lane.name)} />`)}
        </g>`;
      })}
      <line x1="85%" y1=${middle} x2="89%" y2=${middle} />
      <${StepDot} x=${11} y=${middle} name=${graph.first} isFirst state=${stepState(turn, graph.first, null)} />
      <${StepDot} x=${85} y=${middle} name="" state=${stepState(turn, graph.join, "hedge")} />
      <${StepDot} x=${89} y=${middle} name=${graph.last} state=${stepState(turn, graph.last, null)} />
    </svg>
    <ol class="unseen" aria-label=${t("way")}>
      ${listSteps(graph, turn).map(([name, lane]) => {
        const words = {
          step: labelFor("step", name),
          state: labelFor("step_state", stepState(turn, name, lane)),
        };
        return html`<li>${lane && lane !== "hedge" && `${labelFor("strategy", lane)}: `}${t("step_state", words)}</li>`;
      })}
    </ol>`;
}

/**
 * Return the steps of a question, with their strategies.
 * @param {Strategies} graph @param {Turn} turn @returns {[string, string | null][]}
 */
function listSteps({ first, strategies, join, last }, turn) {
  const lanes = strategies.filter((lane) => strategiesOf(turn).includes(lane.name));
  const steps = lanes.flatMap((lane) => lane.steps.map((step) => [step, lane.name]));
  const joined = lanes.length > 1 ? [[join, "hedge"]] : [];
  return /** @type {[string, string | null][]} */ ([[first, null], ...steps, ...joined, [last, null]]);
}

/** @param {{ x: number, y: number, name: string, state: StepState, isFirst?: boolean }} props x in percent */
function StepDot({ x, y, name, state, isFirst }) {
  return html`<g class=${`stop ${state}`}>
    <circle cx="${x}%" cy=${y} r="5" />
    <text x="${x}%" dx=${isFirst ? -10 : 10} y=${y + 4} text-anchor=${isFirst ? "end" : "start"}>${name && labelFor("step", name)}</text>
  </g>`;
}
