/** Where a person says what is asked: further collections, documents and folders, and a condition. */
import { get } from "../core/api.js";
import { html, onValue, useEffect, useSignal, useState } from "../core/html.js";
import { link } from "../core/route.js";
import { collections, selectedCollections } from "../core/session.js";
import { t } from "../core/texts.js";
import { useLoaded } from "../shell/loaded.js";
import { ServerMessage } from "../shell/notices.js";
import { completeCondition } from "./completion.js";
import { checkScope, conditionProblem, MAX_COLLECTIONS, scope, setScope } from "./scope.js";

const MS_OF_TYPING = 250;

/** @param {{ choose: (names: string[]) => void }} props `choose` asks these collections */
export function ScopePanel({ choose }) {
  const names = useSignal(selectedCollections).map(({ name }) => name);
  const others = (useSignal(collections) ?? []).filter(({ name }) => name !== names[0]);
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

/** Show the field for a condition, with completion, and what it holds. @param {{ names: string[] }} props */
function Condition({ names }) {
  const part = useSignal(scope);
  const problem = useSignal(conditionProblem);
  const [held, setHeld] = useState(-1);
  const search = new URLSearchParams(names.map((name) => ["collection", name]));
  // The completion is optional, so an error is ignored.
  const fields = useLoaded(
    /** @returns {Promise<ConditionField[]>} */ () => get(`/fields?${search}`).catch(() => []),
  );
  useEffect(() => {
    let isWanted = true;
    const timer = setTimeout(() => {
      checkScope(names, part).then(
        ({ documents, problem }) => {
          if (!isWanted) return;
          conditionProblem.value = problem ?? "";
          setHeld(documents);
        },
        () => setHeld(-1), // the answer to a question will say why
      );
    }, MS_OF_TYPING);
    return () => {
      isWanted = false;
      clearTimeout(timer);
    };
  }, [part]);
  return html`<div>
    <label class="small" for="condition">${t("only_condition")}</label>
    <${ConditionField} value=${part.where} fields=${fields.value ?? []} isWrong=${problem !== ""} set=${(/** @type {string} */ where) => setScope({ ...part, where })} />
    <p id="condition-said" class=${problem ? "small bad" : "small soft"} role="status">${problem ? html`<${ServerMessage} of=${problem} />` : held >= 0 && t("library_documents", { n: held })}</p>
  </div>`;
}

/**
 * Show the field with a list of what its last word can become: a combobox of the ARIA practices.
 * @param {{ value: string, fields: ConditionField[], isWrong: boolean, set: (value: string) => void }} props
 */
function ConditionField({ value, fields, isWrong, set }) {
  // The option that the arrow keys have reached; null while the list is closed, -1 for none.
  const [at, setAt] = useState(/** @type {number | null} */ (null));
  const all = completeCondition(value, fields);
  const isOpen = at !== null && all.length > 0;
  useEffect(() => document.getElementById(`completion-${at}`)?.scrollIntoView({ block: "nearest" }), [at]);
  /** @param {string} text */
  const write = (text) => {
    set(text);
    setAt(-1);
  };
  /** @param {number} step */
  const move = (step) => setAt(at === null ? 0 : (at + step + all.length) % all.length);
  /** @param {KeyboardEvent} event */
  const onKeyDown = (event) => {
    const { key } = event;
    if (
      key === "Escape"
        ? !isOpen
        : key === "Enter"
          ? !isOpen || !all[at]
          : !all.length || !/^Arrow(Up|Down)$/.test(key)
    )
      return;
    event.preventDefault();
    event.stopPropagation();
    if (key === "Escape") setAt(null);
    else if (key === "Enter") write(all[at ?? 0][1]);
    else move(key === "ArrowDown" ? 1 : at === -1 ? 0 : -1);
  };
  return html`<input id="condition" role="combobox" maxlength="2000" autocomplete="off" autocapitalize="none" spellcheck=${false} placeholder=${exampleCondition(fields)} value=${value}
      aria-autocomplete="list" aria-expanded=${isOpen} aria-controls=${isOpen ? "completions" : undefined} aria-activedescendant=${isOpen && at >= 0 ? `completion-${at}` : undefined}
      aria-invalid=${isWrong} aria-describedby="condition-said" onInput=${onValue(write)} onKeyDown=${onKeyDown} onClick=${() => setAt(at ?? -1)} onBlur=${() => setAt(null)} />
    ${
      isOpen &&
      html`<ul id="completions" class="plain completions" role="listbox" aria-label=${t("only_completions")}>${all.map(
        (
          [word, whole],
          index,
        ) => html`<li key=${whole} id=${`completion-${index}`} role="option" aria-selected=${index === at}
          onPointerDown=${(/** @type {Event} */ event) => event.preventDefault()} onClick=${() => write(whole)}>${word}</li>`,
      )}</ul>`
    }`;
}

/** Return a condition on a field that there is. @param {ConditionField[]} fields */
const exampleCondition = (fields) => {
  const field =
    fields.find(({ name }) => name === "author" || name === "date") ??
    fields.find(({ name }) => name === "kind");
  return (field && completeCondition(`${field.name} = `, fields)[0]?.[1]) ?? "";
};
