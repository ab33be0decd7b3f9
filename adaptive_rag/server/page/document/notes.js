/** The user's own notes in a document: shown at its words and in a list, where they can be changed and deleted. */
import { get, getAll, patch, post, remove } from "../core/api.js";
import { html, signal, useMemo, useRef, useSignal } from "../core/html.js";
import { describePlace, documentName } from "../core/places.js";
import { currentRoute } from "../core/route.js";
import { t } from "../core/texts.js";
import { Field, openForm } from "../shell/form.js";
import { Loading, useLoaded } from "../shell/loaded.js";
import { notify, removeWithUndo } from "../shell/notices.js";
import { selectedWords } from "./selection.js";

/** @typedef {import("./selection.js").TextRange} TextRange */
/** @typedef {{ loaded: import("../shell/loaded.js").Loaded<Note[]>, notes: Note[] }} DocumentNotes */

const changes = signal(0);
/** The notes that are deleted, or will be when their notice times out. @type {{ value: Set<string> }} */
const hiddenNotes = signal(new Set());

/** Return the user's notes in a document. @param {string} path of the document @returns {DocumentNotes} */
export function useNotes(path) {
  const version = useSignal(changes);
  const removed = useSignal(hiddenNotes);
  const loaded = useLoaded(/** @returns {Promise<Note[]>} */ () => getAll(`${path}/notes`), [path, version]);
  const notes = useMemo(
    () => (loaded.value ?? []).filter(({ id }) => !removed.has(id)),
    [loaded.value, removed],
  );
  return { loaded, notes };
}

/**
 * Open the form to write or change a note.
 * @param {string} title @param {string} quote @param {string} text
 * @param {(values: FormValues) => Promise<unknown>} save
 */
function openNoteForm(title, quote, text, save) {
  openForm({
    title,
    fields: html`<blockquote class="whole quoted">${quote}</blockquote>
      <${Field} label=${t("note")} name="text" rows="5" required maxlength="4000" defaultValue=${text} />`,
    action: t("save"),
    onSubmit: async (given) => {
      await save(given);
      changes.value += 1;
    },
  });
}

/** Write a note on words of a document. @param {string} path @param {string} source @param {TextRange} words */
export function writeNote(path, source, { start = 0, end = start, quote = "", page, shown = quote }) {
  openNoteForm(t("note_new"), shown, "", async (given) => {
    let near = start;
    if (page) {
      // On the page of a PDF, the position in the text is not known. Search from where the page begins.
      const outline = await get(`${path}/outline?${new URLSearchParams({ source })}`);
      near = outline.stretches.find((/** @type {Span} */ each) => each.page === page)?.start ?? 0;
    }
    await post(`${path}/notes`, { source, start: near, end, quote, ...given });
  });
}

/** Change a note. @param {string} path @param {Note} note */
export function editNote(path, { id, quote, text }) {
  openNoteForm(t("note"), quote, text, (given) => patch(`${path}/notes/${id}`, given));
}

/** Delete a note, unless the user undoes it. @param {string} path @param {Note} note */
function deleteNote(path, { id }) {
  removeWithUndo(hiddenNotes, [id], t("note_deleted"), () => remove(`${path}/notes/${id}`));
}

/**
 * Show a button that writes a note on the selected words, or else on the cited ones.
 * @param {{ path: string, source: string, box: () => HTMLElement, cited: () => TextRange | null, onNothing?: () => void }} props
 *   `box` returns the element in which words can be selected; `onNothing` is called if there are no words
 */
export function AddNote({ path, source, box, cited, onNothing }) {
  // A tap on the button ends the selection before the click.
  const selection = useRef(/** @type {TextRange | null} */ (null));
  const storeSelection = () => {
    selection.current = selectedWords(box());
  };
  const onAdd = () => {
    const words = selection.current ?? selectedWords(box()) ?? cited();
    selection.current = null;
    if (words) return writeNote(path, source, words);
    notify(t("note_how"));
    onNothing?.();
  };
  return html`<button class="quiet small" onPointerDown=${storeSelection} onClick=${onAdd}>${t("note_add")}</button>`;
}

/** Show where a note begins. @param {{ note: Note } & Record<string, any>} props */
export const NoteSign = ({ note: { id, text }, ...rest }) =>
  html`<button class="note-sign" data-note=${id} aria-label=${t("note_sign", { text: text.slice(0, 100) })} title=${text} ...${rest}>✎</button>`;

/** Show where a passage begins. @param {import("./text.js").Passage} passage */
export const PassageButton = ({ number, start, end }) =>
  html`<button class="passage" data-number=${number} data-start=${start} data-end=${end} aria-label=${t("note_passage", { n: number })}></button>`;

/** @param {{ path: string, source: string, documentNotes: DocumentNotes, onChoose: (note: Note) => void }} props */
export function Notes({ path, source, documentNotes: { loaded, notes }, onChoose }) {
  if (!notes.length) return loaded.problem && html`<${Loading} data=${loaded} />`;
  /** @param {Note} note */
  const where = (note) =>
    note.start === null
      ? t("note_lost")
      : [note.source !== source && documentName(note.source), describePlace(note.place ?? {})]
          .filter(Boolean)
          .join(", ");
  return html`<details class="contents notes grow small" open=${"notes" in currentRoute.value.query}>
    <summary>${t("notes", { n: notes.length })}</summary>
    <ol class="plain">${notes.map(
      (note) => html`<li key=${note.id}>
        <p>${note.text}</p>
        <div class="row">
          <button class="quiet small opener grow" disabled=${note.start === null || note.source !== source} onClick=${() => onChoose(note)}>
            <span class="beginning"><q>${note.quote}</q> ${where(note)}</span></button>
          <button class="quiet small" aria-label=${t("note_edit_of", { text: note.text })} onClick=${() => editNote(path, note)}>${t("note_edit")}</button>
          <button class="quiet small danger" aria-label=${t("note_delete_of", { text: note.text })} onClick=${() => deleteNote(path, note)}>${t("delete")}</button>
        </div>
      </li>`,
    )}</ol>
  </details>`;
}
