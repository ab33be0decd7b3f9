/** The panel to choose the scope of the next questions: further collections, documents and folders, and a condition. */
import { get } from "../core/api.js";
import { html, onValue, useEffect, useSignal, useState } from "../core/html.js";
import { link } from "../core/route.js";
import { askableCollections, selectedCollections } from "../core/session.js";
import { t } from "../core/texts.js";
import { useLoaded } from "../shell/loaded.js";
import { ServerMessage } from "../shell/notices.js";
import { completeCondition } from "./completion.js";
import { checkScope, conditionProblem, MAX_COLLECTIONS, scope, setScope } from "./scope.js";

const MS_OF_TYPING = 250;

/** @param {{ choose: (names: string[]) => void }} props `choose` gets the collections to ask */
export function ScopePanel({ choose }) {
  const names = useSignal(selectedCollections).map(({ name }) => name);
  const others = useSignal(askableCollections).filter(({ name }) => name !== names[0]);
  /** @param {string} name */
  const toggle = (name) =>
    choose(names.includes(name) ? names.filter((each) => each !== name) : [...names, name]);
  return html`<div id="which" class="stack">
    ${
      others.length > 0 &&
      html`<fieldset class="row small"><legend>${t("only_also")}</legend>
      ${others.map(
        ({ name, documents }) => html`
        <label key=${name} class="row"><input type="checkbox" checked=${names.includes(name)}
          disabled=${!names.includes(name) && (names.length >= MAX_COLLECTIONS || !documents)} onChange=${() => toggle(name)} />${name}</label>`,
      )}
    </fieldset>`
    }
    <div class="row">${names.map((name) => html`<a key=${name} class="button" href=${link(["library", name])}>${names.length > 1 ? t("only_choose_in", { name }) : t("only_choose")}</a>`)}</div>
    <${Condition} key=${names.join("/")} names=${names} />
  </div>`;
}

/** Show the field for a condition, with completion, and the number of documents that fulfil it. @param {{ names: string[] }} props */
function Condition({ names }) {
  const only = useSignal(scope);
  const problem = useSignal(conditionProblem);
  const [documentCount, setDocumentCount] = useState(-1);
  const search = new URLSearchParams(names.map((name) => ["collection", name]));
  // The completion is optional, so an error is ignored.
  const fields = useLoaded(
    /** @returns {Promise<ConditionField[]>} */ () => get(`/fields?${search}`).catch(() => []),
  );
  useEffect(() => {
    let isWanted = true;
    const timer = setTimeout(() => {
      checkScope(names, only).then(
        ({ documents, problem }) => {
          if (!isWanted) return;
          conditionProblem.value = problem ?? "";
          setDocumentCount(documents);
        },
        () => setDocumentCount(-1), // the next question will report the error
      );
    }, MS_OF_TYPING);
    return () => {
      isWanted = false;
      clearTimeout(timer);
    };
  }, [only]);
  return html`<div>
    <label class="small" for="condition">${t("only_condition")}</label>
    <${ConditionInput} value=${only.where} fields=${fields.value ?? []} isInvalid=${problem !== ""} onChange=${(/** @type {string} */ where) => setScope({ ...only, where })} />
    <p id="condition-said" class=${problem ? "small bad" : "small soft"} role="status">${problem ? html`<${ServerMessage} message=${problem} />` : documentCount >= 0 && t("library_documents", { n: documentCount })}</p>
  </div>`;
}

/**
 * Show the field with the completions of its last word: a combobox as in the ARIA Authoring Practices.
 * @param {{ value: string, fields: ConditionField[], isInvalid: boolean, onChange: (value: string) => void }} props
 */
function ConditionInput({ value, fields, isInvalid, onChange }) {
  // The option that the arrow keys have reached; null while the list is closed, -1 for none.
  const [active, setActive] = useState(/** @type {number | null} */ (null));
  const completions = completeCondition(value, fields);
  const isOpen = active !== null && completions.length > 0;
  useEffect(
    () => document.getElementById(`completion-${active}`)?.scrollIntoView({ block: "nearest" }),
    [active],
  );
  /** @param {string} text */
  const write = (text) => {
    onChange(text);
    setActive(-1);
  };
  /** @param {number} step */
  const move = (step) =>
    setActive(active === null ? 0 : (active + step + completions.length) % completions.length);
  const chosen = isOpen ? completions[active] : undefined;
  /** What the keys do at present; the browser handles the others. @type {Record<string, (() => void) | false | undefined>} */
  const actions = {
    Escape: isOpen && (() => setActive(null)),
    Enter: chosen && (() => write(chosen[1])),
    ArrowDown: completions.length > 0 && (() => move(1)),
    ArrowUp: completions.length > 0 && (() => move(active === -1 ? 0 : -1)),
  };
  /** @param {KeyboardEvent} event */
  const onKeyDown = (event) => {
    const act = actions[event.key];
    if (!act) return;
    event.preventDefault();
    event.stopPropagation();
    act();
  };
  return html`<input id="condition" role="combobox" maxlength="2000" autocomplete="off" autocapitalize="none" spellcheck=${false} placeholder=${exampleCondition(fields)} value=${value}
      aria-autocomplete="list" aria-expanded=${isOpen} aria-controls=${isOpen ? "completions" : undefined} aria-activedescendant=${isOpen && active >= 0 ? `completion-${active}` : undefined}
      aria-invalid=${isInvalid} aria-describedby="condition-said" onInput=${onValue(write)} onKeyDown=${onKeyDown} onClick=${() => setActive(active ?? -1)} onBlur=${() => setActive(null)} />
    ${
      isOpen &&
      html`<ul id="completions" class="plain completions" role="listbox" aria-label=${t("only_completions")}>${completions.map(
        (
          [word, condition],
          index,
        ) => html`<li key=${condition} id=${`completion-${index}`} role="option" aria-selected=${index === active}
          onPointerDown=${(/** @type {Event} */ event) => event.preventDefault()} onClick=${() => write(condition)}>${word}</li>`,
      )}</ul>`
    }`;
}

/** Return an example of a condition, with a field and a value of the documents. @param {ConditionField[]} fields */
const exampleCondition = (fields) => {
  const field =
    fields.find(({ name }) => name === "author" || name === "date") ??
    fields.find(({ name }) => name === "kind");
  return (field && completeCondition(`${field.name} = `, fields)[0]?.[1]) ?? "";
};
