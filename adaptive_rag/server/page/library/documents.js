/** The documents of a collection: a long list to search, to filter, and to remove documents from. */
import { checkScope, MAX_NAMES, scope, setScope } from "../ask/scope.js";
import { collectionPath, getAll, getPage, request } from "../core/api.js";
import { html, signal, useRef, useSignal, useState } from "../core/html.js";
import { currentRoute, link, navigate, updateUrl } from "../core/route.js";
import { labelFor, language, t, translate } from "../core/texts.js";
import { PagedList, Row, Search } from "../shell/list.js";
import { Loading, useLoaded } from "../shell/loaded.js";
import { notify, removeWithUndo, ServerMessage } from "../shell/notices.js";
import { documentFacts, documentMessage, ReindexButton } from "./document.js";
import { Folders } from "./folders.js";
import { changes, watchJobs } from "./upload.js";

const MAX_DELETED = 1000;
const STATES = /** @type {const} */ (["all", "indexed", "waiting", "failed"]);
const ICONS = { indexed: "✓", waiting: "…", failed: "!" };

/** The documents that are removed, or will be when their notice times out. @type {{ value: Set<string> }} */
const hiddenDocuments = signal(new Set());

/** @param {{ collection: Collection }} props */
export function Documents({ collection: { name, may } }) {
  const mayWrite = may.includes("write");
  const { query } = useSignal(currentRoute);
  const { search = "", folder = "" } = query;
  const state = STATES.find((each) => each === query.state) ?? "all";
  const [folders, setFolders] = useState(/** @type {string[]} */ ([]));
  const lastIndex = useRef(0);
  const version = useSignal(changes);
  const hidden = useSignal(hiddenDocuments);
  const listPath = (/** @type {string} */ state) =>
    `${collectionPath(name)}/documents?${new URLSearchParams({ search, folder, ...(state !== "all" && { state }) })}`;
  // The URL stores the search, state and folder, so that the back button restores them.
  /** @param {string} each */
  const showState = (each) =>
    updateUrl(currentRoute.value.path, {
      ...currentRoute.value.query,
      state: each === "all" ? undefined : each,
    });
  const countsByState = useLoaded(
    () => Promise.all(STATES.map(async (each) => (await getPage(listPath(each), 1)).total)),
    [search, folder, version],
  );
  // The selected rows, and the list that they belong to. The rows of another list may still be loading.
  const path = listPath(state);
  const [selection, setSelection] = useState({ path, rows: /** @type {DocumentRow[]} */ ([]) });
  const chosen = selection.path === path ? selection.rows : [];
  /** @param {DocumentRow[]} rows */
  const setChosen = (rows) => setSelection({ path, rows });
  /**
   * Select or deselect a row; with Shift, select all rows from the last one.
   * @param {DocumentRow} row @param {number} index @param {DocumentRow[]} rows @param {MouseEvent} event
   */
  const choose = (row, index, rows, { shiftKey }) => {
    const [from, to] = shiftKey ? [index, lastIndex.current].sort((a, b) => a - b) : [index, index];
    lastIndex.current = index;
    const span = rows.slice(from, to + 1).filter((each) => each && !hidden.has(each.id));
    const remaining = chosen.filter((each) => !span.some(({ id }) => id === each.id));
    setChosen(chosen.some(({ id }) => id === row.id) ? remaining : [...remaining, ...span]);
  };
  /** Select all listed documents, including those not loaded yet. @param {DocumentRow[]} all */
  const chooseAll = (all) => setChosen(all.filter((each) => !hidden.has(each.id)));
  const chooseNone = () => {
    setChosen([]);
    setFolders([]);
  };
  /** @param {DocumentRow[]} rows */
  const removeRows = (rows) => {
    const ids = rows.map((row) => row.id);
    setChosen([]);
    removeWithUndo(hiddenDocuments, ids, t("library_removed", { n: ids.length }), async () => {
      for (let start = 0; start < ids.length; start += MAX_DELETED) {
        const body = { documents: ids.slice(start, start + MAX_DELETED) };
        await request("POST", `${collectionPath(name)}/documents/delete`, { body, keepalive: true });
      }
      changes.value += 1;
      watchJobs(name);
    });
  };
  /** @param {DocumentRow} row @param {number} index @param {DocumentRow[]} rows */
  const renderRow = (row, index, rows) =>
    !hidden.has(row.id) &&
    html`<article aria-label=${row.name}><${Row}
      before=${html`<input type="checkbox" aria-label=${t("library_choose", { name: row.name })} checked=${chosen.some(({ id }) => id === row.id)}
        onClick=${(/** @type {MouseEvent} */ event) => choose(row, index, rows, event)} />`}
      title=${html`<a href=${link(["library", name], { document: row.id })}>${row.name}</a>`}
      details=${html`${row.found_note && html`<a class="found-note beginning" href=${link(["library", name], { document: row.id, notes: "open" })}>✎ ${row.found_note}</a>`}<span class=${row.state}>${ICONS[row.state]} ${labelFor("document_state", row.is_being_indexed ? "indexing" : row.state)}</span>
        ${[documentMessage(row) && html`<${ServerMessage} message=${documentMessage(row)} />`, ...documentFacts(row)].map((fact) => fact && html` · ${fact}`)}`}>
      ${mayWrite && row.problem && html`<${ReindexButton} name=${name} id=${row.id} label=${t("library_read_again_of", { name: row.name })} />`}
      ${mayWrite && html`<button class="quiet" aria-label=${t("remove_of", { name: row.name })} onClick=${() => removeRows([row])}>${t("remove")}</button>`}
    <//></article>`;
  const counts = countsByState.value;
  if (!counts) return html`<${Loading} data=${countsByState} />`;
  if (!counts[0] && !search && !folder) return null;
  const chosenCount = chosen.length + folders.length;
  return html`<section class="stack" aria-label=${t("library_list")}>
    <${Folders} collection=${name} folder=${folder} version=${version} chosen=${folders} choose=${setFolders} />
    <div class="row list-tools">
      <${Search} label=${t("library_search")} />
      <div class="tabs" role="group" aria-label=${t("library_filter")}>${STATES.map(
        (each, at) => html`<button key=${each} class="quiet" aria-pressed=${each === state}
          onClick=${() => showState(each)}>${labelFor("document_state", each)} <span class="soft">${counts[at].toLocaleString(language.value)}</span></button>`,
      )}</div>
      ${counts[0] > 0 && html`<button class="quiet" onClick=${() => getAll(path).then(chooseAll, notify)}>${t("library_choose_all")}</button>`}
      ${
        chosenCount > 0 &&
        html`<div class="row"><button class="primary" onClick=${() => askSelection(name, chosen, folders).catch(notify)}>${t("only_ask_n", { n: chosenCount })}</button>
        ${mayWrite && chosen.length > 0 && html`<button class="danger" onClick=${() => removeRows(chosen)}>${t("library_remove_n", { n: chosen.length })}</button>`}
        <button class="quiet" onClick=${chooseNone}>${t("library_choose_none")}</button></div>`
      }
    </div>
    <${PagedList} path=${path} version=${version} label=${t("library_list")} empty=${t("library_none_found")} row=${renderRow} />
  </section>`;
}

/**
 * Go to the Ask screen with these documents and folders as the scope.
 * @param {string} name of the collection @param {DocumentRow[]} rows @param {string[]} folders
 */
async function askSelection(name, rows, folders) {
  const part = { ...scope.value, documents: rows.map((row) => row.name), folders };
  if (rows.length > MAX_NAMES || folders.length > MAX_NAMES) return notify(t("only_too_many"));
  const { problem } = await checkScope([name], part);
  if (problem) return notify(translate(problem).text);
  setScope(part, [name]);
  navigate(["ask"]);
}
