/** Explain an answer: the path of its question, step by step. */
import { askAgain } from "../ask/conversation.js";
import { html, useDisclosure, useEffect } from "../core/html.js";
import { formatReasons } from "../core/phrases.js";
import { formatDuration, formatPercent, labelFor, t } from "../core/texts.js";
import { ServerMessage } from "../shell/notices.js";
import { useLaneStyle } from "../shell/strategies.js";
import { RouteGraph, strategiesOf } from "./route_graph.js";
import { Timeline, totalDuration } from "./timeline.js";

/**
 * Return the button that explains an answer, and the panel that it opens. While the answer is written, the panel is
 * shown alone.
 * @param {Turn} turn
 */
export function useWhy(turn) {
  const { isOpen, toggle, button, onKeyDown } = useDisclosure();
  useEffect(() => {
    if (isOpen) button.current?.scrollIntoView({ block: "start" });
  }, [isOpen]);
  const isRunning = turn.state === "running";
  const hasSteps = turn.steps.length > 0;
  if (isRunning)
    return {
      panel: html`<section class="why" aria-label=${t("why")}><${RouteGraph} turn=${turn} /></section>`,
    };
  if (!hasSteps && turn.state !== "answered") return {};
  const id = `why-${turn.key}`;
  return {
    button: html`<button ref=${button} class="quiet small opener why-opener" aria-expanded=${isOpen} aria-controls=${id} onClick=${toggle} onKeyDown=${onKeyDown}>
      <span class="why-arrow" aria-hidden="true">›</span><span class="one-line"><b>${t("why")}</b> ${summary(turn)}</span></button>`,
    panel: html`<section id=${id} class="why" aria-label=${t("why")} hidden=${!isOpen} onKeyDown=${onKeyDown}>
      ${isOpen && (hasSteps ? html`<${Explanation} turn=${turn} />` : html`<p class="soft row">${t("way_not_kept")} <button onClick=${() => askAgain(turn)}>${t("ask_for_way")}</button></p>`)}
    </section>`,
  };
}

/** Return the route, the number of steps, the time and the model calls in words. @param {Turn} turn */
function summary(turn) {
  const { analysis, steps, answer } = turn;
  if (!steps.length) return answer ? labelFor("strategy", answer.query_type) : "";
  const calls = steps.reduce((sum, step) => sum + (step.record?.calls ?? 0), 0);
  const parts = [
    ...strategiesOf(turn).map((lane) => labelFor("strategy", lane)),
    (analysis?.decided_by === "caller" || analysis?.decided_by === "model") &&
      labelFor("chosen_by", analysis.decided_by),
    t("steps", { n: steps.length }),
    formatDuration(totalDuration(steps)),
    calls ? t("model_calls", { n: calls }) : t("no_model_calls"),
  ];
  return parts.filter(Boolean).join(", ");
}

/** @param {{ turn: Turn }} props */
function Explanation({ turn }) {
  return html`<div class="card stack">
    <${RouteGraph} turn=${turn} />
    ${turn.analysis && html`<${Probabilities} analysis=${turn.analysis} />`}
    <${Timeline} turn=${turn} />
  </div>`;
}

/** Return why the type was chosen. The server's phrase for its probability is shortened: the bars show it. @param {Analysis} analysis */
function typeReason({ type, probabilities, reasons: [first, ...others] }) {
  const isLikely = first?.code === "type_at";
  const reasons = isLikely ? others : [first, ...others];
  return html`${isLikely && `${labelFor("strategy", type)}, ${formatPercent(probabilities[type])}${reasons.length ? "; " : ""}`}
    ${reasons.length > 0 && html`<${ServerMessage} message=${formatReasons({ reasons })} />`}.`;
}

/** Show the probability of each type, and what decided. @param {{ analysis: Analysis }} props */
function Probabilities({ analysis }) {
  const laneStyle = useLaneStyle();
  const chosen = [analysis.type, ...analysis.alternatives].map(String);
  const shares = Object.entries(analysis.probabilities).sort((one, other) => other[1] - one[1]);
  return html`<div class="stack">
    <h3>${labelFor("decision", "type")}</h3>
    <ul class="plain bars">
      ${shares.map(
        ([name, share]) => html`<li key=${name} style=${laneStyle(name)}>
          <span style=${{ fontWeight: chosen.includes(name) ? 650 : 400 }}>${labelFor("strategy", name)}</span>
          <span class="bar"><span style=${{ inlineSize: `${share * 100}%` }}></span></span>
          <span class="number">${share < 0.005 ? `<\u00a0${formatPercent(0.01)}` : formatPercent(share)}</span>
        </li>`,
      )}
    </ul>
    <p class="small soft">${labelFor("decided_by", analysis.decided_by)} ${typeReason(analysis)}</p>
  </div>`;
}
