/** The document beside the answer, open at the cited words. */
import { API, collectionPath, get } from "../core/api.js";
import { html, signal, useEffect, useElement, useLayoutEffect, useSignal, useState } from "../core/html.js";
import { describePlace, documentName } from "../core/places.js";
import { t } from "../core/texts.js";
import { Loading, useLoaded } from "../shell/loaded.js";
import { isCovered, Notices } from "../shell/notices.js";
import { closeDocument, opened } from "./opened.js";
import { PdfView, pdfjs } from "./pdf.js";
import { DocumentText } from "./text.js";

const PDF = /\.pdf$/i;
/** Load pdf.js before a PDF is opened. Errors are ignored here: opening the PDF reports them. @param {string} source */
export const preparePdf = (source) => PDF.test(source) && pdfjs().catch(() => {});
const SEARCHED = 40_000; // characters before and after the cited place, where its words are looked for
const narrowWindow = window.matchMedia("(max-width: 62.49rem)");
const isNarrow = signal(narrowWindow.matches);
narrowWindow.addEventListener("change", () => {
  isNarrow.value = narrowWindow.matches;
});

export function DocumentPane() {
  const current = useSignal(opened);
  const isSheet = useSignal(isNarrow);
  if (!current) return null;
  return isSheet
    ? html`<${Sheet} label=${current.source}><${Pane} key=${current.collection + current.source} current=${current} /><//>`
    : html`<aside class="document" aria-label=${current.source} onKeyDown=${(/** @type {KeyboardEvent} */ { key }) => key === "Escape" && closeDocument()}>
        <${Pane} key=${current.collection + current.source} current=${current} />
      </aside>`;
}

/** Show a document as a dialog that fills the window. @param {{ label: string, children: unknown }} props */
function Sheet({ label, children }) {
  const sheet = useElement();
  // The back button closes the sheet, because it fills the window like a screen.
  useLayoutEffect(() => {
    sheet.current?.showModal();
    isCovered.value = true;
    history.pushState({ ...history.state, isSheet: true }, "");
    window.addEventListener("popstate", closeDocument);
    return () => {
      isCovered.value = false;
      window.removeEventListener("popstate", closeDocument);
      if (history.state?.isSheet) history.back();
    };
  }, []);
  return html`<dialog class="document" ref=${sheet} aria-label=${label} onClose=${closeDocument}>${children}<${Notices} isInDialog /></dialog>`;
}

/** Show the header of the open document, and its pages or its text. @param {{ current: import("./opened.js").Opened }} props */
function Pane({ current }) {
  const { collection, source } = current;
  const rows = useLoaded(() =>
    get(`${collectionPath(collection)}/documents?${new URLSearchParams({ source, limit: "1" })}`),
  );
  const [isText, setIsText] = useState(false);
  const [isBroken, setIsBroken] = useState(false);
  useEffect(() => void preparePdf(source), []);
  /** @type {DocumentRow | undefined} */
  const row = rows.value?.items[0];
  const path = row && `${collectionPath(collection)}/documents/${row.id}`;
  const found = useLoaded(async () => (path ? findCited(path, current) : null), [path, current]);
  const cited = found.value;
  const isPdf = row?.name === source && PDF.test(source) && !current.place?.attachment;
  return html`
    <header class="pane-header">
      <div class="row">
        <h2 class="grow one-line" title=${source}>${documentName(source)}</h2>
        <button class="quiet" aria-label=${t("close")} onClick=${closeDocument}>×</button>
      </div>
      <div class="row small">
        <span class="soft grow">${describePlace(current.place ?? { page: current.page ?? undefined })}</span>
        ${isPdf && !isBroken && html`<button class="quiet small" onClick=${() => setIsText(!isText)}>${t(isText ? "document_as_pdf" : "document_as_text")}</button>`}
        ${row && path && fileLink(row.name, path)}
      </div>
      ${current.quotes.length > 1 && html`<${Quotes} current=${current} />`}
    </header>
    ${isBroken && html`<p class="pane-note small" role="status">${t("document_broken_pdf")}</p>`}
    ${cited?.isLost && html`<p class="pane-note small" role="status">${t("document_changed")}</p>`}
    ${!cited && html`<div class="pane-note">${rows.value && !row ? html`<p role="alert">${t("document_gone")}</p>` : html`<${Loading} data=${row ? found : rows} />`}</div>`}
    ${
      row &&
      path &&
      cited &&
      (isPdf && !isText && !isBroken
        ? html`<${PdfView} path=${path} source=${source} cited=${cited} onBroken=${() => setIsBroken(true)} />`
        : html`<${DocumentText} path=${path} source=${source} start=${cited.start} end=${cited.end} />`)
    }
  `;
}

/**
 * Return the citation with the present place of its words, which may have moved if the document was replaced.
 * @template {import("./opened.js").Cited} T
 * @param {string} path @param {T} cited @returns {Promise<T & { isLost?: boolean }>} without a span if the words are gone
 */
async function findCited(path, cited) {
  const { source, start, end, quote } = cited;
  /** @param {number} from @param {number} length */
  const read = (from, length) =>
    get(`${path}/text?${new URLSearchParams({ source, start: `${from}`, length: `${length}` })}`);
  try {
    if (!quote || start === end || (await read(start, end - start)).text === quote) return cited;
    const from = Math.max(0, start - SEARCHED);
    const { text, stretches } = await read(from, end - from + SEARCHED);
    const expected = Array.from(text)
      .slice(0, start - from)
      .join("").length;
    const [at] = [text.lastIndexOf(quote, expected), text.indexOf(quote, expected)]
      .filter((each) => each >= 0)
      .sort((a, b) => Math.abs(a - expected) - Math.abs(b - expected));
    if (at === undefined) return { ...cited, end: start, isLost: true };
    const moved = from + Array.from(text.slice(0, at)).length;
    const stretch = stretches.find((/** @type {Span} */ each) => each.end > moved);
    return { ...cited, start: moved, end: moved + Array.from(quote).length, page: stretch?.page ?? null };
  } catch {
    return cited; // showing the document reports the error
  }
}

/** Show a link to the file, or to the web page that was read. @param {string} name @param {string} path */
function fileLink(name, path) {
  return /^https?:/.test(name)
    ? html`<a class="button quiet small" href=${name} target="_blank" rel="noopener noreferrer">${t("document_site")}</a>`
    : html`<a class="button quiet small" href=${`${API}${path}/file`} download>${t("library_download")}</a>`;
}

/** Show which quote is marked, and buttons to step to the others. @param {{ current: import("./opened.js").Opened }} props */
function Quotes({ current }) {
  const at = current.quotes.findIndex((each) => each.start === current.start && each.end === current.end);
  if (at < 0) return null; // the words of a note are marked
  /** @param {number} step */
  const go = (step) => {
    opened.value = { ...current, ...current.quotes[at + step] };
  };
  return html`<div class="row small">
    <span class="grow" role="status">${t("document_quote", { number: at + 1, total: current.quotes.length })}</span>
    <button class="quiet small" disabled=${at <= 0} onClick=${() => go(-1)}>${t("document_previous")}</button>
    <button class="quiet small" disabled=${at === current.quotes.length - 1} onClick=${() => go(1)}>${t("document_next")}</button>
  </div>`;
}
