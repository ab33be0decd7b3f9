/** Files and folders that are dropped anywhere on the page, or pasted in the library: they go to the collection at hand. */
import { html, useLayoutEffect, useSignal, useState } from "../core/html.js";
import { go, place } from "../core/route.js";
import { collection } from "../core/session.js";
import { t } from "../core/texts.js";
import { tell } from "../shell/notices.js";
import { addFiles, readDropped } from "./upload.js";

export function Drop() {
  const [isOver, setOver] = useState(false);
  const [screen = "ask", name] = useSignal(place).path;
  const chosen = useSignal(collection);
  const isHere = screen === "ask" || (screen === "library" && name === chosen?.name);
  const target = isHere && chosen?.role !== "reader" && chosen?.name;
  // With the screen that is drawn: what is dropped on it goes where it says.
  useLayoutEffect(() => {
    const stop = new AbortController();
    for (const kind of ["dragover", "dragleave", "drop", "paste"]) window.addEventListener(kind, take, stop);
    return () => stop.abort();
  });
  /** @param {any} event */
  const take = (event) => {
    const data = event.dataTransfer ?? event.clipboardData;
    const isPaste = event.type === "paste";
    if (!data?.types.includes("Files") || (isPaste && screen !== "library")) return;
    // A browser would leave the page for the file.
    if (event.type !== "dragleave") event.preventDefault();
    setOver(event.type === "dragover" || (event.type === "dragleave" && event.relatedTarget !== null));
    if (event.type !== "drop" && !isPaste) return;
    if (!target) return void tell(t("library_drop_where"));
    readDropped(data)
      .then((files) => addFiles(target, files))
      .catch(tell);
    go(["library", target]);
  };
  return isOver && target && html`<div class="drop-over">${t("library_drop_now")}</div>`;
}
