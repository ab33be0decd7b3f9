/** The field for a question, and fields to edit a text in place. */
import {
  classes,
  effect,
  html,
  onValue,
  signal,
  useDisclosure,
  useEffect,
  useElement,
  useSignal,
  useState,
} from "../core/html.js";
import { askableCollections, currentCollection, selectedCollections } from "../core/session.js";
import { labelFor, t } from "../core/texts.js";
import { Select } from "../shell/form.js";
import { IconButton } from "../shell/icon.js";
import { lazyComponent } from "../shell/loaded.js";
import { notify } from "../shell/notices.js";
import {
  ask,
  beginConversation,
  isAsking,
  loadingThread,
  stopAsking,
  thread,
  turns,
} from "./conversation.js";
import { changeCollections, conditionProblem, ScopeLine } from "./scope.js";

const ScopePanel = lazyComponent(async () => (await import("./scope_panel.js")).ScopePanel);

const QUESTION_KEY = "adaptive-rag.question";
const SITUATION_KEY = "adaptive-rag.situation";
/** The question being typed. It survives a change of screen, and the redirect to a sign-in provider. */
const typedQuestion = signal(sessionStorage.getItem(QUESTION_KEY) ?? "");
/** What users type about themselves. It survives as the question does. */
const typedSituation = signal(sessionStorage.getItem(SITUATION_KEY) ?? "");

/** @param {string} text */
function setTypedQuestion(text) {
  typedQuestion.value = text;
}

// A question without an answer is in the field again after the page was reloaded.
effect(() => {
  const last = turns.value.at(-1);
  const unanswered = last && last.state !== "answered" ? last.question : "";
  try {
    sessionStorage.setItem(QUESTION_KEY, typedQuestion.value || unanswered);
    sessionStorage.setItem(SITUATION_KEY, typedSituation.value);
  } catch {
    // The storage is full.
  }
});

/** @param {string} text */
function setTypedSituation(text) {
  typedSituation.value = text;
}

export function Composer() {
  const question = useSignal(typedQuestion);
  const userContext = useSignal(typedSituation);
  // The thread that is still loading, and that a submitted question waits for.
  const [awaitedThread, setAwaitedThread] = useState("");
  const isRunning = useSignal(isAsking);
  const isLoading = useSignal(loadingThread) !== "";
  const collection = useSignal(currentCollection);
  const all = useSignal(askableCollections);
  const hasTurns = useSignal(turns).length > 0;
  const [options, situation, scopePanel] = [
    useDisclosure(),
    useDisclosure(userContext !== ""),
    useDisclosure(),
  ];
  const problem = useSignal(conditionProblem);
  /** @param {Event} [event] */
  const send = (event) => {
    event?.preventDefault();
    const text = typedQuestion.value.trim();
    if (!text || !currentCollection.value || isAsking.value) return;
    if (conditionProblem.value) return document.getElementById("condition")?.focus();
    if (loadingThread.value) return setAwaitedThread(loadingThread.value);
    const names = selectedCollections.value.map(({ name }) => name);
    ask(names, text, { userContext: situation.isOpen ? userContext.trim() : "" });
    setTypedQuestion("");
  };
  useEffect(() => {
    if (!awaitedThread || isLoading) return;
    setAwaitedThread("");
    if (thread.value?.id === awaitedThread) send();
  }, [awaitedThread, isLoading]);
  /** @param {string[]} names */
  const askCollections = (names) => {
    if (hasTurns) notify(t("ask_new_in", { name: names.join(", ") }));
    beginConversation({ keepsScope: true });
    changeCollections(names);
  };
  return html`<form class=${classes("composer", options.isOpen && "opened")} onSubmit=${send}>
    <${ScopeLine} problem=${scopePanel.isOpen ? "" : problem} />
    ${scopePanel.isOpen && collection && html`<div class="which" onKeyDown=${scopePanel.onKeyDown}><${ScopePanel} choose=${askCollections} /></div>`}
    ${
      situation.isOpen &&
      html`<label class="small">${t("ask_for")}
        <input id="situation" value=${userContext} placeholder=${t("ask_for_example")} maxlength="20000"
          ref=${focusOnce} onInput=${onValue(setTypedSituation)}
          onKeyDown=${keyHandler({ Enter: send, Escape: situation.close })} /></label>`
    }
    <${GrowingField} id="question" label=${t("ask_question")} value=${question} onInput=${setTypedQuestion} onEnter=${send} />
    <button type="button" class="quiet more" ref=${options.button} aria-label=${t("ask_options")} aria-expanded=${options.isOpen}
      aria-controls="options" onClick=${options.toggle}>⋯</button>
    <div id="options" class="row" onKeyDown=${options.onKeyDown}>
      ${
        collection &&
        html`<button type="button" class="quiet" ref=${scopePanel.button} aria-expanded=${scopePanel.isOpen} aria-controls=${scopePanel.isOpen ? "which" : undefined}
        onClick=${scopePanel.toggle}>${t("only_which")}</button>`
      }
      ${all.length > 1 && html`<${Select} aria-label=${t("ask_collection")} value=${collection?.name} options=${all.map(({ name }) => [name])} onChoose=${(/** @type {string} */ name) => askCollections([name])} />`}
      <button type="button" class="quiet" ref=${situation.button} aria-expanded=${situation.isOpen}
        aria-controls=${situation.isOpen ? "situation" : undefined} onClick=${situation.toggle}>${t("ask_for_whom")}</button>
      ${hasTurns && html`<button type="button" class="quiet" onClick=${() => focusAfter(beginConversation)}>${t("ask_new")}</button>`}
    </div>
    ${
      isRunning
        ? html`<button key="stop" type="button" onClick=${() => focusAfter(stopAsking)}>${t("ask_stop")}</button>`
        : html`<button key="send" class="primary" disabled=${!question.trim() || !collection || problem !== "" || awaitedThread !== ""}>${awaitedThread ? t("loading") : labelFor("screen", "ask")}</button>`
    }
  </form>`;
}

/** Run an action, then focus the question field. @param {() => void} act */
function focusAfter(act) {
  act();
  focusQuestion();
}

export function focusQuestion() {
  document.getElementById("question")?.focus();
}

/**
 * Return a button that opens a field in place of a text, and the field while it is open. Enter sends it, Escape
 * cancels.
 * @param {string} label @param {string} value @param {(text: string) => void} send
 */
export function useInlineEditor(label, value, send) {
  const [text, setText] = useState(/** @type {string | null} */ (null));
  const opener = useElement();
  const cancel = () => {
    setText(null);
    requestAnimationFrame(() => opener.current?.focus());
  };
  /** @param {Event} [event] */
  const onSend = (event) => {
    event?.preventDefault();
    if (!text?.trim() || isAsking.value) return;
    setText(null);
    send(text.trim());
  };
  return {
    button: (/** @type {string} */ words, /** @type {string} */ icon = "") => {
      const open = () => setText(value);
      return icon
        ? html`<${IconButton} icon=${icon} label=${words} class="again" buttonRef=${opener} onClick=${open} />`
        : html`<button class="quiet small again" ref=${opener} onClick=${open}>${words}</button>`;
    },
    field:
      text !== null &&
      html`<form class="stack in-place" onSubmit=${onSend}>
        <${GrowingField} label=${label} value=${text} onInput=${setText} onEnter=${onSend} onEscape=${cancel} focused />
        <div class="row">
          <button class="primary" disabled=${!text.trim()}>${labelFor("screen", "ask")}</button>
          <button type="button" onClick=${cancel}>${t("cancel")}</button>
        </div>
      </form>`,
  };
}

/** Show a text area that grows with its text. @param {Record<string, any>} props */
function GrowingField({ id, label, value, onInput, onEnter, onEscape, focused }) {
  return html`<textarea id=${id} class="growing" ref=${focused && focusOnce} rows="2" maxlength="20000" aria-label=${label} placeholder=${label} value=${value}
    onInput=${onValue(onInput)}
    onKeyDown=${keyHandler({ Enter: onEnter, Escape: onEscape })}></textarea>`;
}

/**
 * Return a key handler. It does nothing while an input method is composing or Shift is held.
 * @param {Record<string, (() => void) | undefined>} actions by key
 */
function keyHandler(actions) {
  return (/** @type {KeyboardEvent} */ event) => {
    if (!actions[event.key] || event.isComposing || event.shiftKey) return;
    event.preventDefault();
    actions[event.key]?.();
  };
}

/** Focus a field when it appears, with the cursor at the end. @param {HTMLInputElement | HTMLTextAreaElement | null} field */
function focusOnce(field) {
  if (!field || document.activeElement === field) return;
  field.focus();
  field.setSelectionRange(field.value.length, field.value.length);
}
