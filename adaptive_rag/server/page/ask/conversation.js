/** The current conversation: its turns, and the events that the server streams for the running one. */
import { get, isOnline, isUnreached, Problem, post, remove, streamEvents, waitUntil } from "../core/api.js";
import { computed, signal } from "../core/html.js";
import { t } from "../core/texts.js";
import { describeError, finishRemovals, notify, removeWithUndo } from "../shell/notices.js";
import { FULL_SCOPE, scope, setScope } from "./scope.js";
import { loadDetails, storeDetails } from "./stored_details.js";

/** @type {{ value: Turn[] }} */
export const turns = signal([]);
/** The thread in which the server stores the conversation, once a question has been answered. @type {{ value: Thread | null }} */
export const thread = signal(null);
/** The turns that are deleted, or will be when their notice times out. @type {{ value: Set<string> }} */
export const hiddenTurns = signal(new Set());
/** Return the name of a stored turn in `hiddenTurns`. @param {Turn} turn */
export const storedKey = ({ thread, id }) => `${thread}/${id}`;
/** The id of the thread that is loading; "" if none is. */
export const loadingThread = signal("");

/** Whether a question is being answered. The next one has to wait. */
export const isAsking = computed(() => turns.value.some((turn) => turn.state === "running"));

let runningRequest = new AbortController();
/** The draft to show in the next frame. @type {string | null} */
let pendingDraft = null;
let turnCount = 0;

/** Start a new conversation, of all documents or, with `keepsScope`, of the same ones. The old one stays in its thread. */
export function beginConversation({ keepsScope = false } = {}) {
  stopAsking();
  loadingThread.value = "";
  turns.value = [];
  thread.value = null;
  if (!keepsScope) setScope();
}

/**
 * Load a thread and show it, unless the user opens another one first. If the server is not reached, wait for it.
 * @param {string} id @returns {Promise<void>}
 */
export async function openThread(id) {
  stopAsking();
  turns.value = [];
  loadingThread.value = id;
  const stored = await get(`/threads/${id}`).catch(async (error) => {
    const isServerAway = isUnreached(error);
    if (isServerAway) await waitUntil(() => isOnline.value || loadingThread.value !== id);
    if (loadingThread.value !== id) return null;
    if (isServerAway) return openThread(id);
    beginConversation();
    throw error;
  });
  if (loadingThread.value !== id) return;
  setScope(stored.turns.at(-1)?.only, stored.collections);
  loadingThread.value = "";
  thread.value = { ...stored, length: stored.turns.length };
  turns.value = stored.turns.map((/** @type {any} */ turn) => toTurn(stored, turn));
}

/** Return a turn of a stored thread as the page shows it. @param {any} stored the thread @param {any} turn @returns {Turn} */
function toTurn(stored, turn) {
  const { steps = [], analysis, passages = [] } = loadDetails(stored.id, turn.id);
  return {
    ...newTurn(stored.collections, turn.question),
    userContext: turn.user_context,
    only: turn.only,
    state: "answered",
    steps,
    analysis,
    passages,
    answer: {
      ...turn,
      query_type: turn.route,
      trace: steps.length
        ? steps.map(({ record }) => record ?? {})
        : [{ step: "generate", decisions: turn.decisions }],
    },
    id: turn.id,
    number: stored.shared_by ? undefined : turn.number,
    thread: stored.id,
    vote: turn.feedback,
  };
}

/** Show the thread as another tab has changed it: with the turns added there, without those deleted. @param {string} id */
async function synchronizeTurns(id) {
  const stored = await get(`/threads/${id}`);
  if (thread.value?.id !== id) return;
  const ids = stored.turns.map((/** @type {any} */ turn) => turn.id);
  const shown = turns.value.filter((each) => each.thread !== id || ids.includes(each.id));
  const find = (/** @type {any} */ turn) =>
    shown.findIndex((each) => each.thread === id && each.id === turn?.id);
  stored.turns.forEach((/** @type {any} */ turn, /** @type {number} */ index) => {
    const at = find(turn);
    if (at < 0) shown.splice(find(stored.turns[index - 1]) + 1, 0, toTurn(stored, turn));
    else shown[at] = { ...shown[at], number: turn.number };
  });
  turns.value = shown;
  thread.value = { ...thread.value, length: stored.turns.length };
}

/**
 * Ask a question, and follow the events until the answer has arrived.
 * @param {string | string[]} names of the collections @param {string} question @param {AskOptions} [options]
 */
export async function ask(names, question, { userContext = "", only: selected = scope.value } = {}) {
  const turn = { ...newTurn([names].flat(), question), userContext, only: selected };
  // The library may have selected another collection. Compare sets, because the server reorders the names.
  const current = new Set(thread.value?.collections ?? turn.collections);
  if (current.symmetricDifference(new Set(turn.collections)).size) {
    beginConversation({ keepsScope: true });
    notify(t("ask_new_in", { name: turn.collections.join(", ") }));
  }
  const abort = new AbortController();
  runningRequest = abort;
  turns.value = [...turns.value, turn];
  let newThread = ""; // the thread that was created for this question, until it has an answer
  try {
    // A deleted turn must not be part of the history of this question.
    if (hiddenTurns.value.size) await finishRemovals();
    abort.signal.throwIfAborted();
    const openId = thread.value?.id;
    const earlier = turns.value.filter((each) => each.thread === openId && each.state === "answered");
    const target = await threadFor(turn.collections, earlier.length);
    if (target.id !== openId) newThread = target.id;
    abort.signal.throwIfAborted();
    const body = requestBody(turn);
    const path = `/threads/${target.id}/ask/events`;
    const length = earlier.length + 1;
    for await (const [name, data] of streamEvents("POST", path, { body, signal: abort.signal }))
      if (name === "answer") {
        newThread = "";
        addAnswer({ ...target, length }, earlier, turn.key, data);
      } else applyEvent(turn.key, name, data);
    const { state, answer } = findTurn(turn.key) ?? {};
    if (state === "running") throw new Problem(0, "");
    if ((answer?.number ?? length) !== length) await synchronizeTurns(target.id).catch(notify);
  } catch (error) {
    if (!abort.signal.aborted) failTurn(turn.key, error);
  }
  if (newThread) remove(`/threads/${newThread}`).catch(notify);
}

/**
 * Return the thread to ask in: the open one, or a new one. If only the first turns of the open one are shown, or if
 * somebody else shares it, the new one is a branch with those turns.
 * @param {string[]} collections @param {number} length the number of stored turns that are shown @returns {Promise<Thread>}
 */
async function threadFor(collections, length) {
  const current = thread.value;
  if (current?.length === length && !current.shared_by) return current;
  return current && length
    ? post(`/threads/${current.id}/branches`, { turns: length })
    : post("/threads", { collections });
}

/**
 * Show an answer, and assign it and the earlier turns to the thread that stores them.
 * @param {Thread} target @param {Turn[]} earlier @param {string} key @param {Answer} answer
 */
function addAnswer(target, earlier, key, answer) {
  const keys = [...earlier.map((turn) => turn.key), key];
  const { analysis, documents: passages } = answer;
  thread.value = target;
  turns.value = turns.value.map((turn) => {
    const number = keys.indexOf(turn.key) + 1;
    if (!number || turn.thread === target.id) return turn;
    /** @type {Partial<Turn>} */
    const changed =
      turn.key === key ? { state: "answered", answer, analysis, passages, id: answer.turn } : {};
    const stored = { ...turn, ...changed, thread: target.id, number };
    storeDetails(stored);
    return stored;
  });
}

/** Stop waiting for the answer. */
export function stopAsking() {
  runningRequest.abort();
  turns.value = turns.value.map((turn) => (turn.state === "running" ? { ...turn, state: "stopped" } : turn));
}

/** Ask a turn's question again. A turn without an answer is replaced. @param {Turn} turn @param {AskOptions} [changed] */
export function askAgain(turn, changed = {}) {
  if (isAsking.value) return;
  if (turn.state !== "answered") turns.value = turns.value.filter((each) => each.key !== turn.key);
  ask(turn.collections, turn.question, { ...askOptions(turn), ...changed });
}

/**
 * Replace a turn with another question. The turns from there on stay in their old thread.
 * @param {Turn} turn @param {string} question
 */
export function replaceTurn(turn, question) {
  const at = turns.value.findIndex((each) => each.key === turn.key);
  if (turns.value.slice(at).some(({ state }) => state === "answered")) notify(t("ask_set_aside"));
  turns.value = turns.value.slice(0, at);
  ask(turn.collections, question, askOptions(turn));
}

/** Delete a turn of the user's own thread, unless the user undoes it. @param {Turn} turn */
export function deleteTurn(turn) {
  const id = storedKey(turn);
  removeWithUndo(hiddenTurns, [id], t("thread_deleted", { title: turn.question }), async () => {
    await remove(`/threads/${turn.thread}/turns/${encodeURIComponent(turn.id ?? "")}`);
    const current = thread.value;
    if (current && current.id === turn.thread)
      thread.value = { ...current, length: (current.length ?? 1) - 1 };
    const number = turns.value.find((each) => storedKey(each) === id)?.number ?? Infinity;
    turns.value = turns.value
      .filter((each) => storedKey(each) !== id)
      .map((each) => ((each.number ?? 0) > number ? { ...each, number: (each.number ?? 0) - 1 } : each));
    hiddenTurns.value = hiddenTurns.value.difference(new Set([id]));
  });
}

/** @param {Turn} turn @returns {AskOptions} */
const askOptions = ({ userContext, only }) => ({ userContext, only });

/** Return the body of a request that asks a turn's question, or compares its answers. @param {Turn} turn */
export const requestBody = ({ question, userContext, only }) => ({
  question,
  user_context: userContext,
  only,
});

/** Return a turn without results. @param {string[]} collections @param {string} question @returns {Turn} */
function newTurn(collections, question) {
  return {
    key: `turn-${++turnCount}`,
    collections,
    question,
    userContext: "",
    only: FULL_SCOPE,
    state: "running",
    steps: [],
    passages: [],
    draft: "",
  };
}

/** Update a turn with an event of its answer. @param {string} key @param {string} name of the event @param {any} data */
function applyEvent(key, name, data) {
  const turn = findTurn(key);
  if (!turn) return;
  if (name === "step")
    updateTurn(key, { steps: [...turn.steps.filter((step) => step.id !== data.id), data] });
  else if (name === "route") updateTurn(key, { analysis: data });
  else if (name === "passages") updateTurn(key, { passages: data });
  else if (name === "draft") appendDraft(turn, data);
  else if (name === "problem")
    failTurn(key, new Problem(data.status, data.detail ?? data.title, undefined, data.type));
}

/** Add a piece to the draft, and show it in the next frame. An empty piece clears the draft. @param {Turn} turn @param {string} piece */
function appendDraft({ key, draft: shownDraft }, piece) {
  if (pendingDraft === null)
    requestAnimationFrame(() => {
      updateTurn(key, { draft: pendingDraft ?? "" });
      pendingDraft = null;
    });
  pendingDraft = piece && (pendingDraft ?? shownDraft) + piece;
}

/** Show an error in place of an answer. @param {string} key @param {unknown} error */
function failTurn(key, error) {
  const { status = -1, retryAfter } = error instanceof Problem ? error : {};
  updateTurn(key, { state: "failed", problem: { status, message: describeError(error).text, retryAfter } });
}

/** @param {string} key */
function findTurn(key) {
  return turns.value.find((turn) => turn.key === key);
}

/** @param {string} key @param {Partial<Turn>} changed */
function updateTurn(key, changed) {
  turns.value = turns.value.map((turn) => (turn.key === key ? { ...turn, ...changed } : turn));
}
