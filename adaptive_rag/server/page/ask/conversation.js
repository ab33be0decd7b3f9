/** The conversation on the screen: its turns, and what the server streams of the running one. */
import { events, get, Problem, pathOf, post } from "../core/api.js";
import { computed, signal } from "../core/html.js";
import { chooseCollection } from "../core/session.js";
import { wordsOf } from "../shell/notices.js";

/** @type {{ value: Turn[] }} */
export const turns = signal([]);
/** The thread that the server keeps of it, once something was asked. @type {{ value: Thread | null }} */
export const thread = signal(null);
/** The id of the thread that is on its way; "" of none. */
export const opening = signal("");

/** Whether an answer is on its way; the next question waits for it. */
export const isAsking = computed(() => turns.value.some((turn) => turn.state === "running"));

let running = new AbortController();
/** What the draft will be with the next frame. @type {string | null} */
let waiting = null;
let last = 0;

/** Begin anew; what was said stays in its thread. */
export function beginConversation() {
  stop();
  opening.value = "";
  turns.value = [];
  thread.value = null;
}

/**
 * Show a thread that the server keeps, unless another is wanted before it is there.
 * @param {string} id
 */
export async function openThread(id) {
  stop();
  turns.value = [];
  opening.value = id;
  const kept = await get(`/threads/${id}`).catch((error) => {
    if (opening.value !== id) return null;
    beginConversation();
    throw error;
  });
  if (opening.value !== id) return;
  chooseCollection(kept.collection);
  opening.value = "";
  thread.value = kept;
  turns.value = kept.turns.map((/** @type {any} */ turn) => ({
    ...started(kept.collection, turn.question),
    userContext: turn.user_context,
    state: "answered",
    answer: {
      answer: turn.answer,
      citations: turn.citations,
      query_type: turn.route,
      abstained: turn.abstained,
      trace: [{ step: "generate", decisions: turn.decisions }],
    },
    number: turn.number,
    thread: id,
    vote: turn.feedback,
  }));
}

/**
 * Ask, and follow what happens until the answer is there.
 * @param {string} collection @param {string} question @param {How} [how]
 */
export async function ask(collection, question, { userContext = "", route } = {}) {
  const turn = { ...started(collection, question), userContext, route };
  const abort = new AbortController();
  running = abort;
  turns.value = [...turns.value, turn];
  try {
    if (thread.value?.collection !== collection)
      thread.value = await post(`${pathOf(collection)}/threads`, {});
    const id = thread.value?.id;
    const before = turns.value.filter((each) => each.thread === id && each.state === "answered");
    const number = before.length + 1;
    change(turn.key, { thread: id });
    const body = { question, user_context: userContext, settings: route ? { route } : {} };
    const path = `/threads/${id}/ask/events`;
    for await (const [name, data] of events("POST", path, { body, signal: abort.signal }))
      receive(turn.key, name, data, number);
    if (find(turn.key)?.state === "running") throw new Problem(0, "");
  } catch (error) {
    if (abort.signal.aborted) change(turn.key, { state: "stopped" });
    else fail(turn.key, error);
  }
}

/** Wait for no answer any more. */
export const stop = () => running.abort();

/**
 * Ask a turn's question again, in its place where it brought no answer.
 * @param {Turn} turn @param {How & { question?: string }} [changed]
 */
export function askAgain(turn, { question = turn.question, ...how } = {}) {
  if (isAsking.value) return;
  if (turn.state !== "answered") turns.value = turns.value.filter((each) => each.key !== turn.key);
  ask(turn.collection, question, { userContext: turn.userContext, route: turn.route, ...how });
}

/** @param {string} collection @param {string} question @returns {Turn} */
function started(collection, question) {
  return {
    key: `turn-${++last}`,
    collection,
    question,
    userContext: "",
    state: "running",
    steps: [],
    passages: [],
    draft: "",
  };
}

/** @param {string} key @param {string} name @param {any} data @param {number} number */
function receive(key, name, data, number) {
  const turn = find(key);
  if (!turn) return;
  if (name === "step") change(key, { steps: [...turn.steps.filter((step) => step.id !== data.id), data] });
  else if (name === "route") change(key, { analysis: data });
  else if (name === "passages") change(key, { passages: data });
  else if (name === "draft") draft(turn, data);
  else if (name === "answer")
    change(key, {
      state: "answered",
      answer: data,
      analysis: data.analysis,
      passages: data.documents,
      number,
    });
  else if (name === "problem")
    fail(key, new Problem(data.status, data.detail ?? data.title, undefined, data.type));
}

/** Show what was written with the next frame; an empty piece begins anew. @param {Turn} turn @param {string} piece */
function draft({ key, draft: shown }, piece) {
  if (waiting === null)
    requestAnimationFrame(() => {
      change(key, { draft: waiting ?? "" });
      waiting = null;
    });
  waiting = piece && (waiting ?? shown) + piece;
}

/** @param {string} key @param {unknown} error */
function fail(key, error) {
  const { status = -1, retryAfter } = error instanceof Problem ? error : {};
  change(key, { state: "failed", problem: { status, message: wordsOf(error), retryAfter } });
}

/** @param {string} key */
function find(key) {
  return turns.value.find((turn) => turn.key === key);
}

/** @param {string} key @param {Partial<Turn>} changed */
function change(key, changed) {
  turns.value = turns.value.map((turn) => (turn.key === key ? { ...turn, ...changed } : turn));
}
