/** Compare the answer with that of another strategy, side by side, and take the user's vote. */
import { MarkedText } from "../ask/citations.js";
import { collectionPath, get, post, remove } from "../core/api.js";
import { html, signal, useDisclosure, useSignal } from "../core/html.js";
import { createSpan, wrapWords } from "../core/markup.js";
import { partsToMarkdown } from "../core/phrases.js";
import { formatDuration, labelFor, t } from "../core/texts.js";
import { openDocument } from "../document/opened.js";
import { IconButton } from "../shell/icon.js";
import { notify } from "../shell/notices.js";
import { laneStyle, useStrategies } from "../why/route_graph.js";

/** @typedef {{ found?: Comparison, kept?: Vote | null, doing?: "comparing" | "voting" }} ComparisonState */

/**
 * The comparison and the vote of each turn, by its key. They survive a change of screen.
 * `kept` is null if the vote was withdrawn.
 * @type {{ value: Record<string, ComparisonState> }}
 */
const states = signal({});

/**
 * Show the actions below an answer.
 * @param {{ turn: Turn, taken: string, last: any, children: any }} props
 *   `taken` is the strategy of the answer; `children` are the first actions and `last` is the last one
 */
export function AnswerActions({ turn, taken, last, children }) {
  const ways = useStrategies().value?.strategies.filter((each) => each.name !== taken) ?? [];
  const { isOpen, toggle, close, button, onKeyDown } = useDisclosure();
  const { found, kept = turn.vote, doing } = useSignal(states)[turn.key] ?? {};
  /** @param {ComparisonState} changed */
  const set = (changed) => {
    states.value = { ...states.value, [turn.key]: { ...states.value[turn.key], ...changed } };
  };
  /** Run an action, unless one is running. @param {ComparisonState["doing"]} what @param {() => Promise<void>} work */
  const act = async (what, work) => {
    if (states.value[turn.key]?.doing) return;
    set({ doing: what });
    await work().catch(notify);
    set({ doing: undefined });
  };
  const { collections, only } = turn;
  const asked = { question: turn.question, user_context: turn.userContext };
  /** @param {string} way */
  const compare = (way) => {
    close();
    act("comparing", async () =>
      set({
        found: await post("/compare", { ...asked, collections, only, routes: [taken, way] }),
      }),
    ).then(() => button.current?.scrollIntoView({ block: "start" }));
  };
  /** Replace the user's vote. @param {Omit<Vote, "id">} [opinion] undefined withdraws it */
  const vote = (opinion) =>
    act("voting", async () => {
      // In another tab the vote may be withdrawn, and turns before this one deleted.
      if (kept)
        await remove(`/feedback/${kept.id}`).catch((error) => {
          if (error.status !== 404) throw error;
        });
      set({ kept: null });
      if (!opinion) return;
      const isThis = (/** @type {Turn} */ { id }) => id === turn.id;
      const now = turn.number && (await get(`/threads/${turn.thread}`)).turns.find(isThis);
      const inThread = now && `/threads/${turn.thread}/turns/${now.number}/feedback`;
      const told = inThread ? opinion : { ...asked, route: taken, ...opinion };
      set({ kept: await post(inThread || `${collectionPath(collections[0])}/feedback`, told) });
      notify(t("vote_kept"));
    });
  /** @param {boolean} isGood */
  const thumb = (isGood) => {
    const isPressed = kept?.is_good === isGood;
    return html`<${IconButton} icon=${isGood ? "good" : "bad"} label=${t(isGood ? "good_answer" : "bad_answer")} aria-pressed=${isPressed}
      onClick=${() => vote(isPressed ? undefined : { is_good: isGood })} />`;
  };
  const id = `ways-${turn.key}`;
  const better = !found && kept?.better_route;
  return html`<div class="another" onKeyDown=${onKeyDown}>
    <div class="actions">
      ${children}
      ${thumb(true)}${thumb(false)}
      <button ref=${button} class="quiet small" aria-expanded=${isOpen} aria-controls=${id} onClick=${toggle}>${t("another_way")}</button>
      ${last}
    </div>
    <div id=${id} class="row" role="group" aria-label=${t("other_ways")} hidden=${!isOpen}>
      ${ways.map((way) => html`<button key=${way.name} title=${way.purpose} onClick=${() => compare(way.name)}>${t("as_way", { way: labelFor("", way.name) })}</button>`)}
    </div>
    ${found && html`<${ComparisonView} turn=${turn} found=${found} kept=${kept} vote=${vote} />`}
    <p class="soft small" role="status">${doing === "comparing" && t("comparing")}${better && html`${t("vote_for", { way: labelFor("", better) })} <button class="link" onClick=${() => vote()}>${t("take_back")}</button>`}</p>
  </div>`;
}

/** @param {{ turn: Turn, found: Comparison, kept?: Vote | null, vote: (opinion?: Omit<Vote, "id">) => void }} props */
function ComparisonView({ turn, found: { columns, passages, sentences, places }, kept, vote }) {
  /** @param {string[]} ids @param {"sources_both" | "sources_only"} title */
  const sources = (ids, title) => {
    /** @param {Span} place */
    const name = ({ source, page }) => source + (page ? `, ${t("place_page", { n: page })}` : "");
    const listed = new Map(ids.toReversed().map((id) => [name(places[id]), places[id]]));
    if (!listed.size) return null;
    return html`<div class="small"><h4>${t(title)}</h4><ul class="plain">
      ${[...listed].reverse().map(([words, place]) => html`<li key=${words}><button class="link" onClick=${() => openDocument(turn.collections, { ...place, quote: "" })}>${words}</button></li>`)}
    </ul></div>`;
  };
  // Both columns mark the same kind: sentences of one answer only, or sentences of both.
  const areOwnFewer = Object.values(sentences.only).flat().length <= 2 * sentences.in_all.length;
  /** @param {Comparison["columns"][0]} column */
  const column = ({ name, ms, calls, answer }) => html`
  <article key=${name} class="card stack" style=${laneStyle(name)}>
    <header class="row"><h3 class="grow">${labelFor("", name)}</h3>
      <span class="soft small">${formatDuration(ms)}, ${calls ? t("model_calls", { n: calls }) : t("no_model_calls")}</span></header>
    <${MarkedText} text=${partsToMarkdown(answer.parts)} collections=${turn.collections} answer=${answer}
      finish=${(/** @type {DocumentFragment} */ drawn) => markSentences(drawn, areOwnFewer, areOwnFewer ? sentences.only[name] : sentences.in_all)} />
    ${sources(passages.only[name], "sources_only")}
    <button class="better" aria-pressed=${kept?.better_route === name} onClick=${() => vote(kept?.better_route === name ? undefined : { better_route: name })}>${t("this_better")}</button>
  </article>`;
  return html`<section class="stack" aria-label=${t("two_ways")}>
    ${(turn.number ?? 1) > 1 && html`<p class="soft small">${t("compared_alone")}</p>`}
    <div class="columns">${columns.map(column)}</div>
    ${sources(passages.in_all, "sources_both")}
    <button class="better" aria-pressed=${kept?.is_good === true} onClick=${() => vote(kept?.is_good ? undefined : { is_good: true })}>${t("both_good")}</button>
  </section>`;
}

/**
 * Mark the sentences that only this answer has; if those are the majority, mark the ones that both answers have.
 * Add a label after each run of marked sentences.
 * @param {DocumentFragment} drawn @param {boolean} isOwn @param {string[]} fewer
 */
function markSentences(drawn, isOwn, fewer) {
  for (const sentence of fewer) wrapWords(drawn, sentence, () => createSpan("only"));
  const framed = [...drawn.querySelectorAll(".only")];
  framed.forEach((each, at) => {
    const between = document.createRange();
    between.setStartAfter(each);
    if (framed[at + 1]) between.setEndBefore(framed[at + 1]);
    if (!framed[at + 1] || /\p{L}/u.test(String(between)))
      each.append(" ", createSpan("only-word", t(isOwn ? "only_here" : "in_both")));
  });
}
