/** Where a question is written, and where a text is changed in its place. */
import { html, useRef, useSignal, useState } from "../core/html.js";
import { chooseCollection, collection, collections } from "../core/session.js";
import { t } from "../core/texts.js";
import { ask, beginConversation, isAsking, opening, stop, turns } from "./conversation.js";

const TYPED = "adaptive-rag.question";

export function Composer() {
  const [question, setText] = useState(sessionStorage.getItem(TYPED) ?? "");
  const setQuestion = (/** @type {string} */ text) => {
    sessionStorage.setItem(TYPED, text); // a provider that signs somebody in takes the page away
    setText(text);
  };
  const [userContext, setUserContext] = useState("");
  const [isFor, setFor] = useState(false);
  const asking = useSignal(isAsking);
  const isLoading = useSignal(opening) !== "";
  const searched = useSignal(collection);
  const all = useSignal(collections) ?? [];
  const hasTurns = useSignal(turns).length > 0;
  const who = useRef(/** @type {HTMLButtonElement | null} */ (null));
  /** @param {Event} [event] */
  const send = (event) => {
    event?.preventDefault();
    if (!question.trim() || !searched || asking || isLoading) return;
    ask(searched.name, question.trim(), { userContext: isFor ? userContext.trim() : "" });
    setQuestion("");
  };
  const closeFor = () => {
    setFor(false);
    who.current?.focus();
  };
  return html`<form class="composer" onSubmit=${send}>
    ${
      isFor &&
      html`<label class="small">${t("ask_for")}
        <input id="situation" value=${userContext} placeholder=${t("ask_for_example")} maxlength="20000"
          ref=${focusOnce} onInput=${(/** @type {any} */ event) => setUserContext(event.target.value)}
          onKeyDown=${onKeys({ Enter: send, Escape: closeFor })} /></label>`
    }
    <${Growing} id="question" label=${t("ask_question")} value=${question} onInput=${setQuestion} onEnter=${send} />
    <div class="row">
      ${
        all.length > 1 &&
        html`<select aria-label=${t("ask_collection")} value=${searched?.name}
          onChange=${(/** @type {any} */ event) => {
            beginConversation();
            chooseCollection(event.target.value);
          }}>
          ${all.map(({ name }) => html`<option value=${name}>${name}</option>`)}</select>`
      }
      <button type="button" class="quiet" ref=${who} aria-expanded=${isFor} aria-controls=${isFor ? "situation" : undefined}
        onClick=${() => setFor(!isFor)}>${t("ask_for_whom")}</button>
      ${
        hasTurns &&
        html`<button type="button" class="quiet" onClick=${() => {
          beginConversation();
          focusQuestion();
        }}>${t("ask_new")}</button>`
      }
      ${
        asking
          ? html`<button key="stop" type="button" class="send" onClick=${() => {
              stop();
              focusQuestion();
            }}>${t("ask_stop")}</button>`
          : html`<button key="send" class="primary send" disabled=${!question.trim() || !searched || isLoading}>${t("nav_ask")}</button>`
      }
    </div>
  </form>`;
}

export function focusQuestion() {
  document.getElementById("question")?.focus();
}

/**
 * Return a button that turns a text into a field in its place, and the field while it is open.
 * Enter sends it, Escape gives up.
 * @param {string} label @param {string} value @param {(text: string) => void} send
 */
export function useInPlace(label, value, send) {
  const [text, setText] = useState(/** @type {string | null} */ (null));
  const opener = useRef(/** @type {HTMLButtonElement | null} */ (null));
  const giveUp = () => {
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
    button: (/** @type {string} */ words) =>
      html`<button class="quiet small again" ref=${opener} onClick=${() => setText(value)}>${words}</button>`,
    field:
      text !== null &&
      html`<form class="stack in-place" onSubmit=${onSend}>
        <${Growing} label=${label} value=${text} onInput=${setText} onEnter=${onSend} onEscape=${giveUp} focused />
        <div class="row">
          <button class="primary" disabled=${!text.trim()}>${t("nav_ask")}</button>
          <button type="button" onClick=${giveUp}>${t("cancel")}</button>
        </div>
      </form>`,
  };
}

/** A field as high as its text. @param {Record<string, any>} props */
function Growing({ id, label, value, onInput, onEnter, onEscape, focused }) {
  return html`<textarea id=${id} class="growing" ref=${focused && focusOnce} rows="2" maxlength="20000" aria-label=${label} placeholder=${label} value=${value}
    onInput=${(/** @type {any} */ event) => onInput(event.target.value)}
    onKeyDown=${onKeys({ Enter: onEnter, Escape: onEscape })}></textarea>`;
}

/** Do something at a key, but not while an input method composes or Shift is held. @param {Record<string, (() => void) | undefined>} acts */
function onKeys(acts) {
  return (/** @type {KeyboardEvent} */ event) => {
    if (!acts[event.key] || event.isComposing || event.shiftKey) return;
    event.preventDefault();
    acts[event.key]?.();
  };
}

/** @param {HTMLInputElement | HTMLTextAreaElement | null} field */
function focusOnce(field) {
  if (!field || document.activeElement === field) return;
  field.focus();
  field.setSelectionRange(field.value.length, field.value.length);
}
