/** A question with its answer. */
import { AnswerActions } from "../another/another.js";
import { collectionPath, get } from "../core/api.js";
import { html, useEffect, useSignal, useState } from "../core/html.js";
import { createSpan, splitSections, wrapWords } from "../core/markup.js";
import {
  formatReasons,
  MARK_PLACEHOLDER,
  parseDraft,
  partsToMarkdown,
  partText,
  phraseText,
} from "../core/phrases.js";
import { splitSource } from "../core/places.js";
import { formatPercent, language, t } from "../core/texts.js";
import { IconButton } from "../shell/icon.js";
import { notify, ServerMessage } from "../shell/notices.js";
import { en } from "../texts/en.js";
import { useWhy } from "../why/why.js";
import { answerToMarkdown, ClosestPassages, MarkedText, Sources } from "./citations.js";
import { focusQuestion, useInlineEditor } from "./composer.js";
import { ask, askAgain, deleteTurn, replaceTurn, turns } from "./conversation.js";
import { describeScope } from "./scope.js";

/** @typedef {import("./citations.js").CitedAnswer} Written */

/** @param {{ turn: Turn }} props */
export function Answer({ turn }) {
  useSignal(language);
  const edited = useInlineEditor(t("ask_question"), turn.question, (question) => {
    focusQuestion();
    replaceTurn(turn, question);
  });
  const why = useWhy(turn);
  const { answer, state } = turn;
  const which = describeScope(turn.collections, turn.only);
  const actions =
    !edited.field &&
    html`
      ${answer && html`<${IconButton} icon="copy" label=${t("copy")} onClick=${() => copy(turn.collections, answer)} />`}
      ${answer && html`<${IconButton} icon="again" label=${t("ask_again")} class="again" onClick=${() => askTurnAgain(turn)} />`}
      ${edited.button(t("ask_edit"), "edit")}
      ${state === "answered" && turn.id && turn.number && html`<${IconButton} icon="delete" label=${t("thread_delete_of", { title: turn.question })} onClick=${() => deleteTurn(turn)} />`}`;
  return html`<article class="turn" tabindex="-1" aria-busy=${state === "running"}>
    ${edited.field || html`<h2 class="question">${turn.question}</h2>`}
    ${which && html`<p class="small soft">${which}</p>`}
    ${answer?.query_type === "contextual" && !answer.abstained && html`<${Situation} turn=${turn} />`}
    ${answer?.abstained ? html`<${Refusal} turn=${turn} answer=${answer} />` : html`<${AnswerText} turn=${turn} />`}
    ${state === "running" && html`<${CurrentStep} turn=${turn} />`}
    ${state === "failed" && html`<div class="card refusal" role="alert"><p>${turn.problem?.message}</p><${Retry} turn=${turn} /></div>`}
    ${state === "stopped" && html`<div class="row soft">${t("ask_stopped")}<${Retry} turn=${turn} /></div>`}
    <${Sources} turn=${turn} />
    ${state === "answered" && answer ? html`<${AnswerActions} turn=${turn} taken=${answer.query_type} last=${why.button}>${actions}<//>` : state !== "running" && html`<div class="actions">${actions}${why.button}</div>`}
    ${why.panel}
    <${SuggestedQuestions} turn=${turn} />
  </article>`;
}

/** Show further questions about the cited document below the last answer. @param {{ turn: Turn }} props */
function SuggestedQuestions({ turn }) {
  const shown = useSignal(turns);
  const [questions, setQuestions] = useState(/** @type {string[]} */ ([]));
  const [collection, source] = splitSource(turn.collections, turn.answer?.citations?.[0]?.source ?? "");
  const isLast = shown.at(-1) === turn && turn.state === "answered";
  useEffect(() => {
    if (!isLast || !source) return;
    const path = `${collectionPath(collection)}/questions?source=${encodeURIComponent(source)}`;
    // The suggestions are optional, so an error is ignored.
    get(path).then(setQuestions, () => setQuestions([]));
  }, [isLast, source]);
  const next = questions.filter((question) => shown.every((each) => each.question !== question)).slice(0, 3);
  if (!isLast || !next.length) return null;
  return html`<div class="row next" role="group" aria-label=${t("ask_next")}>
    ${next.map((question) => html`<button class="quiet small" onClick=${() => ask(turn.collections, question)}>${question}</button>`)}
  </div>`;
}

/** Show that the documents hold no answer, what was searched, and the closest passages. @param {{ turn: Turn, answer: NonNullable<Turn["answer"]> }} props */
function Refusal({ turn, answer: { parts } }) {
  const isShown = (/** @type {AnswerPart} */ { code }) =>
    code && !(code === "nearest" && turn.passages.length);
  const [refused, ...others] = parts.filter(isShown).map(partText);
  return html`<div class="card refusal"><p>${refused}</p>${others.length > 0 && html`<p>${others.join(" ")}</p>`}<${ClosestPassages} turn=${turn} /></div>`;
}

/** Ask again, and focus the field for the next question. @param {Turn} turn @param {Parameters<typeof askAgain>[1]} [changed] */
function askTurnAgain(turn, changed) {
  focusQuestion();
  askAgain(turn, changed);
}

/** @param {string[]} collections @param {any} answer */
async function copy(collections, answer) {
  try {
    await navigator.clipboard.writeText(answerToMarkdown(collections, answer));
    notify(t("ask_copied"));
  } catch {
    notify(t("ask_not_copied")); // browsers allow it only on https and localhost, and may ask the user first
  }
}

/** @param {Turn} turn @param {string} what @returns {Decision[]} */
function decisionsOf({ answer }, what) {
  return (answer?.trace ?? [])
    .flatMap((record) => record.decisions ?? [])
    .filter((each) => each.what === what);
}

/** Tell whether a chat model did not respond, so that the answer was made without it. @param {Turn} turn */
function isModelSilent({ answer }) {
  const trace = answer?.trace ?? [];
  return (
    trace.some(({ unreachable = [] }) => unreachable.length > 0) &&
    trace.some(({ stand_ins = [] }) => stand_ins.some(({ skill }) => skill === "generate"))
  );
}

/** Show the answer, or the part that has been written so far. @param {{ turn: Turn }} props */
function AnswerText({ turn }) {
  const { citations = [], confidence } = turn.answer ?? {};
  const all = turn.answer?.parts ?? parseDraft(turn.draft);
  const isClosest = all[0]?.code === "closest";
  const answer = { parts: isClosest ? all.slice(1) : all, citations };
  const [first, ...others] = splitSections(partsToMarkdown(answer.parts));
  if (!first) return null;
  const headed = first.heading ? [first, ...others] : others;
  const isOpinion = (turn.answer?.query_type ?? turn.analysis?.type) === "opinion";
  const draw = (/** @type {string} */ text) =>
    html`<${AnswerMarkdown} turn=${turn} text=${text} answer=${answer} />`;
  const body = html`
    ${!first.heading && draw(first.body)}
    ${
      headed.length > 0 &&
      html`<div class=${isOpinion && headed.length > 1 && "columns"}>
        ${headed.map(
          ({ heading, body }) => html`<section>
            ${draw(`### ${heading}`)}
            ${isOpinion && html`<p class="small soft">${countViews(answer, body)}</p>`}
            ${draw(body)}
          </section>`,
        )}
      </div>`
    }`;
  return html`
    ${
      isClosest
        ? html`<section class="card refusal"><h3>${phraseText(/** @type {Phrase} */ (all[0]))}</h3>${body}</section>`
        : body
    }
    ${isModelSilent(turn) && html`<p class="small" role="note">${t("ask_model_silent")}</p>`}
    ${!isClosest && typeof confidence === "number" && html`<p class="small soft">${t("sure", { share: formatPercent(confidence) })}</p>`}
    <${UnsupportedSentences} turn=${turn} />
  `;
}

/** @param {Written} answer @param {string} body a section of it @returns {string} the number of views and sources in it */
function countViews({ parts, citations }, body) {
  const views = body.match(/^\s*(?:[-*+]|\d+\.)\s/gm)?.length ?? body.trim().split(/\n\s*\n/).length;
  const marks = body.split(MARK_PLACEHOLDER).filter((_, at) => at % 2);
  const sources = new Set(
    marks.map((at) => citations[parts[Number(at)].citation ?? -1]?.source).filter(Boolean),
  );
  return t("ask_views", { views, sources: sources.size });
}

/** @param {{ text: string, answer: Written, turn: Turn }} props */
function AnswerMarkdown({ text, answer, turn }) {
  /** @param {DocumentFragment} drawn */
  const finish = (drawn) => {
    for (const { chosen } of decisionsOf(turn, "unsupported"))
      wrapWords(drawn, String(chosen), () => createSpan("unheld"))?.after(
        createSpan("badge unheld-note", t("ask_unheld")),
      );
  };
  return html`<${MarkedText} text=${text} collections=${turn.collections} answer=${answer} finish=${finish} />`;
}

/** Show the sentences that no passage supports, with the reasons. @param {{ turn: Turn }} props */
function UnsupportedSentences({ turn }) {
  const unheld = decisionsOf(turn, "unsupported");
  if (!unheld.length) return null;
  // For a stored thread, the number of checked sentences is not known.
  const { grounding } = turn.answer ?? {};
  const share = 1 - (grounding ?? 1);
  const all = share > 0 ? Math.round(unheld.length / share) : 0;
  return html`<details class="card hint folded">
    <summary>${all ? t("ask_held", { held: all - unheld.length, all }) : t("ask_not_held", { n: unheld.length })}</summary>
    <ul>${unheld.map((each) => html`<li>“${String(each.chosen)}” <${ServerMessage} class="soft" of=${formatReasons(each)} /></li>`)}</ul>
  </details>`;
}

/** Show the situation that the answer is for, and a button to change it. @param {{ turn: Turn }} props */
function Situation({ turn }) {
  const decisions = turn.answer?.trace?.find((record) => record.step === "rerank")?.decisions ?? [];
  const assumed = decisions.find((each) => each.what === "situation")?.chosen;
  const known = turn.userContext || String(assumed ?? "");
  const edited = useInlineEditor(t("ask_for"), known, (userContext) => askTurnAgain(turn, { userContext }));
  if (edited.field) return edited.field;
  return html`<p class="row small soft">
    ${known ? t("ask_answered_for", { who: known }) : t("ask_for_anybody")}
    ${edited.button(t(known ? "ask_change" : "ask_add"))}
  </p>`;
}

/** Show the current step in words. @param {{ turn: Turn }} props */
function CurrentStep({ turn }) {
  const step = turn.steps.findLast((each) => each.state === "started") ?? turn.steps.at(-1);
  const key = `ask_step_${step?.name}`;
  const words = /** @type {TextKey} */ (key in en ? key : "ask_working");
  return html`<p class="working small soft">${t(words)}</p>`;
}

/** Show a button to ask again, enabled once the server allows it. @param {{ turn: Turn }} props */
function Retry({ turn }) {
  const [seconds, setSeconds] = useState(turn.problem?.retryAfter ?? 0);
  useEffect(() => {
    if (seconds <= 0) return;
    const timer = setTimeout(() => setSeconds(seconds - 1), 1000);
    return () => clearTimeout(timer);
  }, [seconds]);
  return html`<button class="again" disabled=${seconds > 0} onClick=${() => askTurnAgain(turn)}>
    ${seconds > 0 ? t("ask_retry_in", { n: Math.ceil(seconds) }) : t("try_again")}
  </button>`;
}
