/** The actions below an answer: a vote, and a comparison with the answer of another strategy. */
import { MarkedText } from "../ask/citations.js";
import { requestBody } from "../ask/conversation.js";
import { collectionPath, get, post, remove } from "../core/api.js";
import { html, signal, useDisclosure, useSignal } from "../core/html.js";
import { createSpan, wrapWords } from "../core/markup.js";
import { partsToMarkdown } from "../core/phrases.js";
import { formatDuration, labelFor, t } from "../core/texts.js";
import { openDocument } from "../document/opened.js";
import { IconButton } from "../shell/icon.js";
import { notify } from "../shell/notices.js";
import { useLaneStyle, useStrategies } from "../shell/strategies.js";

/** @typedef {{ comparison?: Comparison, vote?: Vote | null, comparing?: boolean, voting?: boolean }} ComparisonState */

/**
 * The comparison and the vote of each turn, by the turn's key. They survive a change of screen.
 * `vote` is null if the user has withdrawn it, and undefined if it is still that of the stored turn.
 * @type {{ value: Record<string, ComparisonState> }}
 */
const states = signal({});

/**
 * Show the actions below an answer, and the comparison if the user has asked for one.
 * @param {{ turn: Turn, strategy: string, lastAction: any, children: any }} props
 *   `strategy` is the one that answered; `children` are the first actions
 */
export function AnswerActions({ turn, strategy, lastAction, children }) {
  const otherStrategies = useStrategies().value?.strategies.filter((each) => each.name !== strategy) ?? [];
  const { isOpen, toggle, close, button, onKeyDown } = useDisclosure();
  const { comparison, vote = turn.vote, comparing } = useSignal(states)[turn.key] ?? {};
  /** @param {ComparisonState} changed */
  const setState = (changed) => {
    states.value = { ...states.value, [turn.key]: { ...states.value[turn.key], ...changed } };
  };
  /** Run an action, unless it is running. @param {"comparing" | "voting"} action @param {() => Promise<void>} work */
  const runOnce = async (action, work) => {
    if (states.value[turn.key]?.[action]) return;
    setState({ [action]: true });
    await work().catch(notify);
    setState({ [action]: false });
  };
  const { collections, question, userContext } = turn;
  /** @param {string} other */
  const compare = (other) => {
    close();
    runOnce("comparing", async () =>
      setState({
        comparison: await post("/compare", { ...requestBody(turn), collections, routes: [strategy, other] }),
      }),
    ).then(() => button.current?.scrollIntoView({ block: "start" }));
  };
  /** Replace the user's vote. @param {Omit<Vote, "id">} [opinion] undefined withdraws it */
  const castVote = (opinion) =>
    runOnce("voting", async () => {
      // In another tab, the vote may have been withdrawn, and earlier turns deleted.
      if (vote)
        await remove(`/feedback/${vote.id}`).catch((error) => {
          if (error.status !== 404) throw error;
        });
      setState({ vote: null });
      if (!opinion) return;
      const isThis = (/** @type {Turn} */ { id }) => id === turn.id;
      const stored = turn.number && (await get(`/threads/${turn.thread}`)).turns.find(isThis);
      const inThread = stored && `/threads/${turn.thread}/turns/${stored.number}/feedback`;
      const body = inThread ? opinion : { question, user_context: userContext, route: strategy, ...opinion };
      setState({ vote: await post(inThread || `${collectionPath(collections[0])}/feedback`, body) });
      notify(t("vote_kept"));
    });
  /** @param {boolean} isGood */
  const thumb = (isGood) => {
    const isPressed = vote?.is_good === isGood;
    return html`<${IconButton} icon=${isGood ? "good" : "bad"} label=${labelFor("vote", isGood ? "good" : "bad")} aria-pressed=${isPressed}
      onClick=${() => castVote(isPressed ? undefined : { is_good: isGood })} />`;
  };
  const id = `ways-${turn.key}`;
  const better = !comparison && vote?.better_route;
  return html`<div class="another" onKeyDown=${onKeyDown}>
    <div class="actions">
      ${children}
      ${thumb(true)}${thumb(false)}
      <button ref=${button} class="quiet small" aria-expanded=${isOpen} aria-controls=${id} onClick=${toggle}>${t("another_way")}</button>
      ${lastAction}
    </div>
    <div id=${id} class="row" role="group" aria-label=${t("other_ways")} hidden=${!isOpen}>
      ${otherStrategies.map(({ name, purpose }) => html`<button key=${name} title=${purpose} onClick=${() => compare(name)}>${t("as_way", { way: labelFor("strategy", name) })}</button>`)}
    </div>
    ${comparison && html`<${ComparisonView} turn=${turn} comparison=${comparison} vote=${vote} castVote=${castVote} />`}
    <p class="soft small" role="status">${comparing && t("comparing")}${better && html`${t("vote_for", { way: labelFor("strategy", better) })} <button class="link" onClick=${() => castVote()}>${t("take_back")}</button>`}</p>
  </div>`;
}

/**
 * Show the two answers side by side, and buttons to vote for one of them or for both.
 * @param {{ turn: Turn, comparison: Comparison, vote?: Vote | null, castVote: (opinion?: Omit<Vote, "id">) => void }} props
 */
function ComparisonView({ turn, comparison, vote, castVote }) {
  const { columns, passages, sentences, places } = comparison;
  const laneStyle = useLaneStyle();
  /** Return the list of the sources of passages. @param {string[]} ids @param {"sources_both" | "sources_only"} title */
  const sourceList = (ids, title) => {
    /** @param {Span} place */
    const nameOf = ({ source, page }) => source + (page ? `, ${labelFor("place", "page", { page })}` : "");
    const listed = new Map(ids.toReversed().map((id) => [nameOf(places[id]), places[id]]));
    if (!listed.size) return null;
    return html`<div class="small"><h4>${t(title)}</h4><ul class="plain">
      ${[...listed].reverse().map(([name, place]) => html`<li key=${name}><button class="link" onClick=${() => openDocument(turn.collections, { ...place, quote: "" })}>${name}</button></li>`)}
    </ul></div>`;
  };
  // Both columns mark the same kind: sentences of one answer only, or sentences of both.
  const marksUnique = Object.values(sentences.only).flat().length <= 2 * sentences.in_all.length;
  /** @param {Comparison["columns"][0]} column */
  const renderColumn = ({ name, ms, calls, answer }) => html`
  <article key=${name} class="card stack" style=${laneStyle(name)}>
    <header class="row"><h3 class="grow">${labelFor("strategy", name)}</h3>
      <span class="soft small">${formatDuration(ms)}, ${calls ? t("model_calls", { n: calls }) : t("no_model_calls")}</span></header>
    <${MarkedText} text=${partsToMarkdown(answer.parts)} collections=${turn.collections} answer=${answer}
      finish=${(/** @type {DocumentFragment} */ fragment) => markSentences(fragment, marksUnique, marksUnique ? sentences.only[name] : sentences.in_all)} />
    ${sourceList(passages.only[name], "sources_only")}
    <button class="better" aria-pressed=${vote?.better_route === name} onClick=${() => castVote(vote?.better_route === name ? undefined : { better_route: name })}>${t("this_better")}</button>
  </article>`;
  return html`<section class="stack" aria-label=${t("two_ways")}>
    ${(turn.number ?? 1) > 1 && html`<p class="soft small">${t("compared_alone")}</p>`}
    <div class="columns">${columns.map(renderColumn)}</div>
    ${sourceList(passages.in_all, "sources_both")}
    <button class="better" aria-pressed=${vote?.is_good === true} onClick=${() => castVote(vote?.is_good ? undefined : { is_good: true })}>${t("both_good")}</button>
  </section>`;
}

/**
 * Mark the sentences that only this answer has; if those are the majority, mark the ones that both answers have.
 * Add a label after each run of marked sentences.
 * @param {DocumentFragment} fragment @param {boolean} isUnique @param {string[]} sentences
 */
function markSentences(fragment, isUnique, sentences) {
  for (const sentence of sentences) wrapWords(fragment, sentence, () => createSpan("only"));
  const marked = [...fragment.querySelectorAll(".only")];
  marked.forEach((element, index) => {
    const between = document.createRange();
    between.setStartAfter(element);
    if (marked[index + 1]) between.setEndBefore(marked[index + 1]);
    if (!marked[index + 1] || /\p{L}/u.test(String(between)))
      element.append(" ", createSpan("only-word", t(isUnique ? "only_here" : "in_both")));
  });
}
