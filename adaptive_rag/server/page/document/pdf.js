/** The pages of a PDF, rendered by pdf.js, with rectangles over the cited words. */
import { API, get } from "../core/api.js";
import { html, onValue, useEffect, useElement, useLayoutEffect, useMemo, useState } from "../core/html.js";
import { vendorUrl } from "../core/markup.js";
import { describePlace } from "../core/places.js";
import { t } from "../core/texts.js";
import { showInMiddle, VirtualList } from "../core/virtual_list.js";
import { readOnce, useLoaded } from "../shell/loaded.js";
import { AddNote, editNote, NoteSign, Notes, useNotes } from "./notes.js";
import { opened } from "./opened.js";

const ZOOMS = [0.5, 0.75, 1, 1.25, 1.5, 2, 3, 4];
const PAGE_MARGIN = 24; // pixels, left and right together
const MAX_PIXELS = 2 ** 24; // in a canvas: the most that every browser supports
const CONTEXT_LENGTH = 80; // characters before a quote, which distinguish it from repetitions

/** @typedef {{ before: string, words: string, isNew: boolean }} Quote `isNew` means that the page has not been scrolled to it yet */
/** @typedef {{ left: string, top: string, width: string, height: string }} Box */
/** @typedef {{ start: number, end: number, page: number | null }} Span */

const readLibrary = readOnce(startLibrary);
/** Load pdf.js and, in parallel, its worker. They are loaded only once. */
export const pdfjs = () => readLibrary(0);

async function startLibrary() {
  const workerPort = new Worker(vendorUrl("pdf.worker.min.mjs"), { type: "module" });
  const loaded = await import("pdfjs-dist");
  loaded.GlobalWorkerOptions.workerPort = workerPort;
  return loaded;
}

/**
 * Show a PDF at the page of a citation, with its words marked.
 * @param {{ path: string, source: string, cited: Span & { quote: string }, onBroken: () => void }} props
 *   `path` is the document's path below /api/v1; `onBroken` is called if the file cannot be read
 */
export function PdfView({ path, source, cited, onBroken }) {
  const [pdf, setPdf] = useState(/** @type {import("pdfjs-dist").PDFDocumentProxy | null} */ (null));
  const [aspect, setAspect] = useState(0);
  const [width, setWidth] = useState(0);
  const [zoom, setZoom] = useState(1);
  const [pageNumber, setPageNumber] = useState(cited.page ?? 1);
  const quotes = useLoaded(() => quoteByPage(path, source, cited), [cited.start, cited.end]);
  // The quotes of which one was not found on its page.
  const [missing, setMissing] = useState(/** @type {typeof quotes.value} */ (null));
  const isMissing =
    cited.end > cited.start &&
    (quotes.problem || (quotes.value && (!quotes.value.size || quotes.value === missing)));
  const [target, setTarget] = useState({ index: (cited.page ?? 1) - 1 });
  const frame = useElement();
  const documentNotes = useNotes(path);

  useEffect(() => {
    let isWanted = true;
    /** @type {import("pdfjs-dist").PDFDocumentLoadingTask | undefined} */
    let loading;
    const load = async () => {
      const { getDocument } = await pdfjs();
      if (!isWanted) return;
      const url = `${API}${path}/file`;
      loading = getDocument({ url, rangeChunkSize: 2 ** 18, isEvalSupported: false, useWasm: false });
      const loaded = await loading.promise;
      const page = await loaded.getPage(Math.min(cited.page ?? 1, loaded.numPages));
      const viewport = page.getViewport({ scale: 1 });
      setAspect(viewport.height / viewport.width);
      setPdf(loaded);
    };
    load().catch(() => isWanted && onBroken());
    return () => {
      isWanted = false;
      loading?.destroy();
    };
  }, [path]);
  useEffect(() => setTarget({ index: (cited.page ?? 1) - 1 }), [cited.start, cited.end]);
  useEffect(() => {
    const resizes = new ResizeObserver(([entry]) => setWidth(Math.round(entry.contentRect.width)));
    resizes.observe(frame.current);
    return () => resizes.disconnect();
  }, []);

  const pageWidth = Math.max(100, width - PAGE_MARGIN) * zoom;
  /** @param {number} page */
  const goTo = (page) => {
    if (page >= 1 && page <= (pdf?.numPages ?? 0)) setTarget({ index: Math.floor(page) - 1 });
  };
  /** @param {number} step */
  const zoomBy = (step) => {
    setTarget({ index: pageNumber - 1 });
    setZoom(ZOOMS[ZOOMS.indexOf(zoom) + step]);
  };
  /** @param {Note} note */
  const openNote = ({ start, end, quote, place }) => {
    const [from, to] = [Number(start), Number(end)];
    const at = { start: from, end: to, quote, place: place ?? {}, page: place?.page ?? null };
    if (opened.value) opened.value = { ...opened.value, ...at };
  };
  const citedWords = () =>
    cited.end > cited.start ? { ...cited, quote: "", page: undefined, shown: cited.quote } : null;
  return html`<div class="pdf" ref=${frame} aria-busy=${!pdf}>
    <div class="row pane-tools">
      <label class="row small">${t("document_page_field")}
        <input type="number" min="1" max=${pdf?.numPages} value=${pageNumber} disabled=${!pdf}
          onChange=${onValue((typed) => goTo(Number(typed)))} />
        ${pdf && t("document_of_pages", { n: pdf.numPages })}
      </label>
      <span class="grow"></span>
      <button class="quiet" aria-label=${t("document_smaller")} disabled=${!pdf || zoom === ZOOMS[0]} onClick=${() => zoomBy(-1)}>−</button>
      <button class="quiet small" aria-label=${t("document_fit")} disabled=${!pdf || zoom === 1} onClick=${() => zoomBy(ZOOMS.indexOf(1) - ZOOMS.indexOf(zoom))}>${Math.round(zoom * 100)} %</button>
      <button class="quiet" aria-label=${t("document_larger")} disabled=${!pdf || zoom === ZOOMS.at(-1)} onClick=${() => zoomBy(1)}>+</button>
      <${AddNote} path=${path} source=${source} box=${() => frame.current} cited=${citedWords} />
      <${Notes} path=${path} source=${source} documentNotes=${documentNotes} onChoose=${openNote} />
    </div>
    ${isMissing && html`<p class="pane-note small" role="status">${t("document_not_marked")}</p>`}
    ${!pdf && html`<p class="pane-note soft">${t("loading")}</p>`}
    ${
      pdf &&
      width > 0 &&
      html`<div class="scroller" role="group" tabindex="0" aria-label=${t("document_pages")}>
        <${VirtualList} key=${`${width} ${zoom}`} count=${pdf.numPages} target=${target} height=${() => pageWidth * aspect}
        onSeen=${(/** @type {number} */ middle) => setPageNumber(middle + 1)}
        row=${(/** @type {number} */ index, /** @type {number} */ height) =>
          html`<${PdfPage} key=${index} pdf=${pdf} number=${index + 1} width=${pageWidth} height=${height}
            quote=${quotes.value?.get(index + 1)} notes=${documentNotes.notes.filter(({ place }) => place?.page === index + 1)}
            onNote=${(/** @type {Note} */ note) => editNote(path, note)} onMissing=${() => setMissing(quotes.value)} onBroken=${onBroken} />`} />
      </div>`
    }
  </div>`;
}

/**
 * Show a page, with the cited words and the notes marked.
 * @param {{ pdf: import("pdfjs-dist").PDFDocumentProxy, number: number, width: number, height: number,
 *   quote?: Quote, notes: Note[], onNote: (note: Note) => void, onMissing: () => void, onBroken: () => void }} props
 */
function PdfPage({ pdf, number, width, height, quote, notes, onNote, onMissing, onBroken }) {
  const canvas = useElement();
  const textLayer = useElement();
  const mark = useElement();
  const [size, setSize] = useState({ height, scale: 1 });
  const [layer, setLayer] = useState(/** @type {import("pdfjs-dist").TextLayer | null} */ (null));

  useEffect(() => {
    let isWanted = true;
    /** @type {import("pdfjs-dist").RenderTask | undefined} */
    let renderTask;
    const draw = async () => {
      const { TextLayer } = await pdfjs();
      const page = await pdf.getPage(number);
      const viewport = page.getViewport({ scale: width / page.getViewport({ scale: 1 }).width });
      if (!isWanted || !canvas.current) return;
      setSize({ height: viewport.height, scale: viewport.scale });
      const pixelRatio = Math.min(window.devicePixelRatio, Math.sqrt(MAX_PIXELS / (width * viewport.height)));
      const element = canvas.current;
      element.width = Math.floor(viewport.width * pixelRatio);
      element.height = Math.floor(viewport.height * pixelRatio);
      const transform = [pixelRatio, 0, 0, pixelRatio, 0, 0];
      renderTask = page.render({ canvas: element, viewport, transform });
      const renderText = async () => {
        const textContentSource = await page.getTextContent();
        if (!isWanted || !textLayer.current) return;
        const textLayerView = new TextLayer({ textContentSource, container: textLayer.current, viewport });
        await textLayerView.render();
        if (isWanted) setLayer(textLayerView);
      };
      await Promise.all([renderTask.promise, renderText()]);
    };
    // A page that has left the window has no canvas. The file itself is fine.
    draw().catch(() => isWanted && canvas.current && onBroken());
    return () => {
      isWanted = false;
      renderTask?.cancel();
    };
  }, [pdf, number, width]);
  /** @param {string} words @param {string} [before] @returns {Box[]} */
  const locate = (words, before = "") =>
    layer
      ? rectanglesOf(findQuote(layer.textContentItemsStr, before, words), layer.textDivs, textLayer.current)
      : [];
  const boxes = useMemo(() => (quote ? locate(quote.words, quote.before) : []), [layer, quote]);
  const noteBoxes = useMemo(
    () => notes.map((note) => ({ note, boxes: locate(note.quote) })).filter(({ boxes }) => boxes.length),
    [layer, notes.map(({ id, text }) => id + text).join()],
  );
  useLayoutEffect(() => {
    if (layer && quote && !boxes.length) onMissing();
    if (!quote?.isNew || !mark.current) return;
    quote.isNew = false;
    showInMiddle(mark.current);
  }, [boxes]);

  const words = quote?.words.trim() ?? "";
  const firstBox = { ref: mark, tabindex: -1, role: "note", "aria-label": t("document_cited", { words }) };
  const scale = { "--total-scale-factor": size.scale, "--scale-round-x": "1px", "--scale-round-y": "1px" };
  return html`<div class="pdf-page" role="group" aria-label=${describePlace({ page: number })}
    data-page=${number} style=${{ width: `${width}px`, height: `${size.height}px`, ...scale }}>
    <canvas ref=${canvas} aria-hidden="true"></canvas>
    ${boxes.map((box, at) => html`<div class="pdf-mark" style=${box} ...${at === 0 && firstBox} />`)}
    ${noteBoxes.flatMap((each) => each.boxes.map((box) => html`<div class="pdf-noted" style=${box}></div>`))}
    <div class="textLayer" ref=${textLayer}></div>
    ${noteBoxes.map(({ note, boxes: [{ top }] }) => html`<${NoteSign} note=${note} style=${{ top }} onClick=${() => onNote(note)} />`)}
  </div>`;
}

/** Return the cited words by page, in the wording of the server's text. @param {string} path @param {string} source @param {Span} cited */
async function quoteByPage(path, source, { start, end }) {
  if (start === end) return new Map();
  const from = Math.max(0, start - CONTEXT_LENGTH);
  const span = { source, start: `${from}`, length: `${Math.max(1, end - from)}` };
  const part = await get(`${path}/text?${new URLSearchParams(span)}`);
  const chars = Array.from(part.text);
  /** @param {number} low @param {number} high */
  const between = (low, high) => chars.slice(Math.max(0, low - from), Math.max(0, high - from)).join("");
  /** @type {Map<number, Quote>} */
  const quotes = new Map();
  for (const { start: low, end: high, page } of part.stretches) {
    const { before, words, isNew } = quotes.get(page) ?? { before: "", words: "", isNew: false };
    quotes.set(page, {
      isNew: isNew || (low <= start && start < high),
      before: before + between(low, Math.min(high, start)),
      words: words + between(Math.max(low, start), Math.min(high, end)),
    });
  }
  return new Map([...quotes].filter(([, { words }]) => lettersOf(words)));
}

/**
 * Return only the letters and digits of a text: hyphens, ligatures and accents may differ between a PDF and its text.
 * @param {string} text
 */
const lettersOf = (text) =>
  text
    .normalize("NFKD")
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]/gu, "");

/**
 * Find a quote in the pieces of a page's text.
 * @param {string[]} pieces @param {string} before @param {string} words
 * @returns {[piece: number, from: number, to: number][]} one for each character; empty if the quote is not found
 */
function findQuote(pieces, before, words) {
  let text = "";
  /** @type {[number, number, number][]} */
  const places = [];
  pieces.forEach((piece, index) => {
    let at = 0;
    for (const char of piece) {
      const letters = lettersOf(char);
      text += letters;
      for (let n = 0; n < letters.length; n++) places.push([index, at, at + char.length]);
      at += char.length;
    }
  });
  /** @param {string} context @param {string} part @returns {[number, number, number][]} */
  const search = (context, part) => {
    const at = text.indexOf(context + part);
    return part && at >= 0 ? places.slice(at + context.length, at + context.length + part.length) : [];
  };
  for (const context of [lettersOf(before), lettersOf(before).slice(-20), ""]) {
    const matches = search(context, lettersOf(words));
    if (matches.length) return matches;
  }
  // The cells of a table may be in another order on the page than in the text.
  return words
    .split(/\n|[|:;]\s/)
    .map(lettersOf)
    .filter((part) => part.length > 5)
    .flatMap((part) => search("", part));
}

/**
 * Return a rectangle for each piece that contains part of the quote, in percent of the page.
 * @param {[number, number, number][]} matches @param {HTMLElement[]} elements @param {HTMLElement} page
 * @returns {Box[]}
 */
function rectanglesOf(matches, elements, page) {
  const frame = page.getBoundingClientRect();
  return [...Map.groupBy(matches, ([index]) => index)].map(([index, places]) => {
    const text = /** @type {Text} */ (elements[index].firstChild);
    const range = document.createRange();
    range.setStart(text, Math.min(...places.map(([, from]) => from)));
    range.setEnd(text, Math.max(...places.map(([, , to]) => to)));
    const { left, top, width, height } = range.getBoundingClientRect();
    /** @param {number} length @param {number} whole */
    const percent = (length, whole) => `${(100 * length) / whole}%`;
    return {
      left: percent(left - frame.left, frame.width),
      top: percent(top - frame.top, frame.height),
      width: percent(width, frame.width),
      height: percent(height, frame.height),
    };
  });
}
