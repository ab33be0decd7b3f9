/** Add files and folders that are dropped on the page, or pasted in the library, to the current collection. */
import { html, useLayoutEffect, useSignal, useState } from "../core/html.js";
import { currentRoute, navigate } from "../core/route.js";
import { collections, currentCollection } from "../core/session.js";
import { labelFor, t } from "../core/texts.js";
import { openForm } from "../shell/form.js";
import { notify } from "../shell/notices.js";
import { mayCreateCollection, newCollectionForm } from "./new_collection.js";

export function DropTarget() {
  const [isOver, setOver] = useState(false);
  const [screen = "ask", name] = useSignal(currentRoute).path;
  const [all, asked] = [useSignal(collections), useSignal(currentCollection)];
  const chosen = screen === "library" ? all.find((each) => each.name === name) : asked;
  const isHere = screen === "ask" || screen === "library";
  const target = isHere && chosen?.may.includes("write") && chosen.name;
  // Replace the listeners on each render, so that they use the collection that is shown now.
  useLayoutEffect(() => {
    const stop = new AbortController();
    for (const kind of ["dragover", "dragleave", "drop", "paste"])
      window.addEventListener(kind, onEvent, stop);
    return () => stop.abort();
  });
  /** @param {any} event */
  const onEvent = (event) => {
    const data = event.dataTransfer ?? event.clipboardData;
    const isPaste = event.type === "paste";
    if (!data?.types.includes("Files") || (isPaste && screen !== "library")) return;
    // By default, the browser would leave the page and open the file.
    if (event.type !== "dragleave") event.preventDefault();
    setOver(event.type === "dragover" || (event.type === "dragleave" && event.relatedTarget !== null));
    if (event.type !== "drop" && !isPaste) return;
    const files = readDropped(data);
    /** @param {string} name */
    const add = (name) => {
      import("./upload.js").then(async ({ addFiles }) => addFiles(name, await files)).catch(notify);
      navigate(["library", name]);
    };
    if (target) add(target);
    else if (screen === "ask" && mayCreateCollection()) openForm(newCollectionForm(add, "documents"));
    else if (screen !== "ask") notify(t("library_drop_where"));
    else notify(chosen ? labelFor("problem", "role_too_low") : t("welcome_ask_admin"));
  };
  return (
    isOver && (target || screen === "ask") && html`<div class="drop-over">${t("library_drop_now")}</div>`
  );
}

/**
 * Return the dropped or pasted files, and those in folders.
 * @param {DataTransfer} data
 * @returns {Promise<{ file: File, name: string }[]>}
 */
async function readDropped(data) {
  // Read all items before the first `await`: afterwards the browser has cleared the list.
  const reads = [...data.items].map((item) => {
    const [entry, file] = [item.webkitGetAsEntry(), item.getAsFile()];
    return entry ? readEntry(entry) : file ? [{ file, name: file.name }] : [];
  });
  return (await Promise.all(reads)).flat();
}

/**
 * Return a file, or the files of a folder and of those below it.
 * @param {any} entry a file system entry @returns {Promise<{ file: File, name: string }[]>}
 */
async function readEntry(entry) {
  if (entry.isFile) {
    const file = await new Promise((done, fail) => entry.file(done, fail));
    return [{ file, name: entry.fullPath.replace(/^\//, "") }];
  }
  const reader = entry.createReader();
  const files = [];
  for (;;) {
    /** @type {any[]} */
    const entries = await new Promise((done, fail) => reader.readEntries(done, fail));
    if (!entries.length) return files.flat();
    for (const each of entries) files.push(await readEntry(each));
  }
}
