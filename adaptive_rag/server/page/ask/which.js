/** Where a person says what is asked: further collections, documents and folders, and a condition. */
import { get } from "../core/api.js";
import { html, onValue, useEffect, useSignal, useState } from "../core/html.js";
import { link } from "../core/route.js";
import { asked, collections } from "../core/session.js";
import { t } from "../core/texts.js";
import { useLoaded } from "../shell/loaded.js";
import { Said } from "../shell/notices.js";
import { completionsOf } from "./completion.js";
import { askOnly, MOST_COLLECTIONS, measure, only, wrong } from "./only.js";

const MS_OF_TYPING = 250;

/** @param {{ choose: (names: string[]) => void }} props `choose` asks these collections */
export function Which({ choose }) {
  const names = useSignal(asked).map(({ name }) => name);
  const others = (useSignal(collections) ?? []).filter(({ name }) => name !== names[0]);
  /** @param {string} name */
  const toggle = (name) =>
    choose(names.includes(name) ? names.filter((each) => each !== name) : [...names, name]);
  return html`<div id="which" class="stack">
    ${
      others.length > 0 &&
      html`<fieldset class="row small"><legend>${t("only_also")}</legend>
      ${others.map(
        ({
          name,
          documents,
        }) => html`<label key=${name} class="row"><input type="checkbox" checked=${names.includes(name)}
          disabled=${!names.includes(name) && (names.length >= MOST_COLLECTIONS || !documents)} onChange=${() => toggle(name)} />${name}</label>`,
      )}
    </fieldset>`
    }
    <div class="row">${names.map((name) => html`<a key=${name} class="button" href=${link(["library", name])}>${names.length > 1 ? t("only_choose_in", { name }) : t("only_choose")}</a>`)}</div>
    <${Condition} key=${names.join("/")} names=${names} />
  </div>`;
}

/** Show the field for a condition, with completion, and what it holds. @param {{ names: string[] }} props */
function Condition({ names }) {
  const part = useSignal(only);
  const problem = useSignal(wrong);
  const [held, setHeld] = useState(-1);
  const search = new URLSearchParams(names.map((name) => ["collection", name]));
  // The completion is optional, so an error is ignored.
  const fields = useLoaded(
    /** @returns {Promise<FieldOf[]>} */ () => get(`/fields?${search}`).catch(() => []),
  );
  useEffect(() => {
    let isWanted = true;
    const timer = setTimeout(() => {
      measure(names, part).then(
        ({ documents, problem }) => {
          if (!isWanted) return;
          wrong.value = problem ?? "";
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
    <label class="small">${t("only_condition")}
      <input id="condition" list="completions" maxlength="2000" autocomplete="off" spellcheck=${false} autocapitalize="none" placeholder=${exampleOf(fields.value ?? [])}
        aria-invalid=${problem !== ""} aria-describedby="condition-said" value=${part.where}
        onInput=${onValue((where) => askOnly({ ...part, where }))} /></label>
    <datalist id="completions">${completionsOf(part.where, fields.value ?? []).map((each) => html`<option key=${each} value=${each} />`)}</datalist>
    <p id="condition-said" class=${problem ? "small bad" : "small soft"} role="status">${problem ? html`<${Said} of=${problem} />` : held >= 0 && t("only_holds", { n: held })}</p>
  </div>`;
}

/** Return a condition on a field that there is. @param {FieldOf[]} fields */
const exampleOf = (fields) => {
  const field =
    fields.find(({ name }) => name === "author" || name === "date") ??
    fields.find(({ name }) => name === "kind");
  return field?.values.length ? (completionsOf(`${field.name} = `, fields)[0] ?? "") : "";
};
