/** A question with its answer. */
import { AnswerActions } from "../another/another.js";
import { collectionPath, getPage } from "../core/api.js";
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
import { findLabel, formatPercent, labelFor, language, t } from "../core/texts.js";
import { IconButton } from "../shell/icon.js";
import { useLoaded } from "../shell/loaded.js";
import { copyText, ServerMessage } from "../shell/notices.js";
import { useStrategy } from "../shell/strategies.js";
import { useWhy } from "../why/why.js";
import { answerToMarkdown, ClosestPassages, MarkedText, Sources } from "./citations.js";
import { focusQuestion, useInlineEditor } from "./composer.js";
import { ask, askAgain, deleteTurn, replaceTurn, turns } from "./conversation.js";
import { describeScope } from "./scope.js";
import { useSuggestions } from "./welcome.js";

/** @typedef {import("./citations.js").CitedAnswer} CitedAnswer */

/** @param {{ turn: Turn }} props */
export function Answer({ turn }) {
  useSignal(language);
  const editor = useInlineEditor(t("ask_question"), turn.question, (question) => {
    focusQuestion();
    replaceTurn(turn, question);
  });
  const why = useWhy(turn);
  const { answer, state } = turn;
  const strategy = useStrategy(answer?.query_type);
  const scopeText = describeScope(turn.collections, turn.only);
  const actions =
    !editor.field &&
    html`
      ${answer && html`<${IconButton} icon="copy" label=${t("copy")} onClick=${() => copyText(answerToMarkdown(turn.collections, answer), "ask_copied", "ask_not_copied")} />`}
      ${answer && html`<${IconButton} icon="again" label=${t("ask_again")} class="again" onClick=${() => askTurnAgain(turn)} />`}
      ${editor.button(t("ask_edit"), "edit")}
      ${state === "answered" && turn.id && turn.number && html`<${IconButton} icon="delete" label=${t("thread_delete_of", { title: turn.question })} onClick=${() => deleteTurn(turn)} />`}`;
  return html`<article class="turn" tabindex="-1" aria-busy=${state === "running"}>
    ${editor.field || html`<h2 class="question">${turn.question}</h2>`}
    ${scopeText && html`<p class="small soft">${scopeText}</p>`}
    ${strategy?.uses_situation && !answer?.abstained && html`<${Situation} turn=${turn} lastStep=${strategy.steps.at(-1)} />`}
    ${answer?.abstained ? html`<${Refusal} turn=${turn} answer=${answer} />` : html`<${AnswerText} turn=${turn} />`}
    ${state === "running" && html`<${CurrentStep} turn=${turn} />`}
    ${state === "failed" && html`<div class="card refusal" role="alert"><p>${turn.problem?.message}</p><${Retry} turn=${turn} /></div>`}
    ${state === "stopped" && html`<div class="row soft">${t("ask_stopped")}<${Retry} turn=${turn} /></div>`}
    <${StillIndexing} turn=${turn} />
    <${Sources} turn=${turn} />
    ${state === "answered" && answer ? html`<${AnswerActions} turn=${turn} strategy=${answer.query_type} lastAction=${why.button}>${actions}<//>` : state !== "running" && html`<div class="actions">${actions}${why.button}</div>`}
    ${why.panel}
    <${SuggestedQuestions} turn=${turn} />
  </article>`;
}

/** Show further questions about the cited document below the last answer. @param {{ turn: Turn }} props */
function SuggestedQuestions({ turn }) {
  const allTurns = useSignal(turns);
  const [collection, source] = splitSource(turn.collections, turn.answer?.citations?.[0]?.source ?? "");
  const isLast = allTurns.at(-1) === turn && turn.state === "answered";
  const next = useSuggestions(isLast && source !== "", collection, source)
    .filter((question) => allTurns.every((each) => each.question !== question))
    .slice(0, 3);
  if (!isLast || !next.length) return null;
  return html`<div class="row next" role="group" aria-label=${t("ask_next")}>
    ${next.map((question) => html`<button class="small" onClick=${() => ask(turn.collections, question, { only: turn.only })}>${question}</button>`)}
  </div>`;
}

/**
 * Show that the documents hold no answer, what was searched, and the closest passages.
 * @param {{ turn: Turn, answer: NonNullable<Turn["answer"]> }} props
 */
function Refusal({ turn, answer: { parts } }) {
  const isShown = (/** @type {AnswerPart} */ { code }) =>
    code && !(code === "nearest" && turn.passages.length);
  const [refusal, ...others] = parts.filter(isShown).map(partText);
  return html`<div class="card refusal"><p>${refusal}</p>${others.length > 0 && html`<p>${others.join(" ")}</p>`}<${ClosestPassages} turn=${turn} /></div>`;
}

/** Say how many documents were not searched yet, if the last answer was not found. @param {{ turn: Turn }} props */
function StillIndexing({ turn: { collections, key, answer } }) {
  const isLast = useSignal(turns).at(-1)?.key === key;
  const isMissing = isLast && Boolean(answer?.abstained || answer?.parts[0]?.code === "closest");
  const countWaiting = async () => {
    const asked = isMissing ? collections : [];
    const pages = asked.map((each) => getPage(`${collectionPath(each)}/documents?state=waiting`, 1));
    return (await Promise.all(pages)).reduce((sum, { total }) => sum + total, 0);
  };
  const n = useLoaded(countWaiting, [isMissing]).value;
  return n ? html`<p class="small" role="note">${labelFor("problem", "being_indexed", { n })}</p>` : null;
}

/** Ask again, and focus the field for the next question. @param {Turn} turn @param {Parameters<typeof askAgain>[1]} [changed] */
function askTurnAgain(turn, changed) {
  focusQuestion();
  askAgain(turn, changed);
}

/** Return the decisions of one kind that the steps of an answer report. @param {Turn} turn @param {string} kind @returns {Decision[]} */
function decisionsOf({ answer }, kind) {
  return (answer?.trace ?? [])
    .flatMap((record) => record.decisions ?? [])
    .filter((decision) => decision.what === kind);
}

/** Return whether the answer consists of quotations because a chat model did not respond. @param {Turn} turn */
function isModelSilent({ answer }) {
  const trace = answer?.trace ?? [];
  return (
    trace.some(({ unreachable = [] }) => unreachable.length > 0) &&
    trace.some(({ stand_ins = [] }) => stand_ins.some(({ skill }) => skill === "generate"))
  );
}

/** Show the answer, or the part that has been written so far. @param {{ turn: Turn }} props */
function AnswerText({ turn }) {
  const showsViews = useStrategy(turn.answer?.query_type ?? turn.analysis?.type)?.shows_views;
  const { citations = [], confidence } = turn.answer ?? {};
  const parts = turn.answer?.parts ?? parseDraft(turn.draft);
  const isClosest = parts[0]?.code === "closest";
  const answer = { parts: isClosest ? parts.slice(1) : parts, citations };
  const [first, ...others] = splitSections(partsToMarkdown(answer.parts));
  if (!first) return null;
  const sections = first.heading ? [first, ...others] : others;
  const renderMarkdown = (/** @type {string} */ text) =>
    html`<${AnswerMarkdown} turn=${turn} text=${text} answer=${answer} />`;
  const body = html`
    ${!first.heading && renderMarkdown(first.body)}
    ${
      sections.length > 0 &&
      html`<div class=${showsViews && sections.length > 1 && "columns"}>
        ${sections.map(
          ({ heading, body }) => html`<section>
            ${renderMarkdown(`### ${heading}`)}
            ${showsViews && html`<p class="small soft">${countViews(answer, body)}</p>`}
            ${renderMarkdown(body)}
          </section>`,
        )}
      </div>`
    }`;
  return html`
    ${
      isClosest
        ? html`<section class="card refusal"><h3>${phraseText(/** @type {Phrase} */ (parts[0]))}</h3>${body}</section>`
        : body
    }
    ${isModelSilent(turn) && html`<p class="small" role="note">${t("ask_model_silent")}</p>`}
    ${!isClosest && typeof confidence === "number" && html`<p class="small soft">${t("sure", { share: formatPercent(confidence) })}</p>`}
    <${UnsupportedSentences} turn=${turn} />
  `;
}

/**
 * Return the numbers of views and sources in a section, in words.
 * @param {CitedAnswer} answer @param {string} body of the section @returns {string}
 */
function countViews({ parts, citations }, body) {
  const views = body.match(/^\s*(?:[-*+]|\d+\.)\s/gm)?.length ?? body.trim().split(/\n\s*\n/).length;
  const marks = body.split(MARK_PLACEHOLDER).filter((_, at) => at % 2);
  const sources = new Set(
    marks.map((part) => citations[parts[Number(part)].citation ?? -1]?.source).filter(Boolean),
  );
  return t("ask_views", { views, sources: sources.size });
}

/**
 * Show Markdown of an answer, with its marks, and with the unsupported sentences marked.
 * @param {{ text: string, answer: CitedAnswer, turn: Turn }} props
 */
function AnswerMarkdown({ text, answer, turn }) {
  /** @param {DocumentFragment} fragment */
  const finish = (fragment) => {
    for (const { chosen } of decisionsOf(turn, "unsupported"))
      wrapWords(fragment, String(chosen), () => createSpan("unheld"))?.after(
        createSpan("badge unheld-note", t("ask_unheld")),
      );
  };
  return html`<${MarkedText} text=${text} collections=${turn.collections} answer=${answer} finish=${finish} />`;
}

/** Show the sentences that no passage supports, with the reasons. @param {{ turn: Turn }} props */
function UnsupportedSentences({ turn }) {
  const unsupported = decisionsOf(turn, "unsupported");
  if (!unsupported.length) return null;
  // Without the grounding, the number of checked sentences is not known.
  const { grounding } = turn.answer ?? {};
  const share = 1 - (grounding ?? 1);
  const all = share > 0 ? Math.round(unsupported.length / share) : 0;
  return html`<details class="card hint folded">
    <summary>${all ? t("ask_held", { held: all - unsupported.length, all }) : t("ask_not_held", { n: unsupported.length })}</summary>
    <ul>${unsupported.map((each) => html`<li>“${String(each.chosen)}” <${ServerMessage} class="soft" message=${formatReasons(each)} /></li>`)}</ul>
  </details>`;
}

/**
 * Show the situation that the answer is for, or that the answer may depend on one, and a button to change it.
 * @param {{ turn: Turn, lastStep?: string }} props `lastStep` of the strategy says which situation it assumed
 */
function Situation({ turn, lastStep }) {
  const decisions = turn.answer?.trace?.find((record) => record.step === lastStep)?.decisions ?? [];
  const assumed = decisions.find((each) => each.what === "situation")?.chosen;
  const situation = turn.userContext || String(assumed ?? "");
  const editor = useInlineEditor(t("ask_for"), situation, (userContext) =>
    askTurnAgain(turn, { userContext }),
  );
  if (editor.field) return editor.field;
  if (!situation && !turn.analysis?.is_personal) return null;
  return html`<p class="row small soft">
    <span class="beginning">${situation ? t("ask_answered_for", { who: situation }) : t("ask_may_depend")}</span>
    ${editor.button(t(situation ? "ask_change" : "ask_add"))}
  </p>`;
}

/** Show the current step in words. @param {{ turn: Turn }} props */
function CurrentStep({ turn }) {
  const step = turn.steps.findLast((each) => each.state === "started") ?? turn.steps.at(-1);
  return html`<p class="working small soft">${findLabel("progress", step?.name ?? "") ?? t("ask_working")}</p>`;
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
