/** The documents of a collection: a long list to search, to filter, and to remove documents from. */
import { checkScope, MAX_NAMES, scope, setScope } from "../ask/scope.js";
import { collectionPath, getAll, getPage, request } from "../core/api.js";
import { html, signal, useEffect, useRef, useSignal, useState } from "../core/html.js";
import { currentRoute, link, navigate, updateUrl } from "../core/route.js";
import { language, t, translate } from "../core/texts.js";
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
  const [chosen, setChosen] = useState(/** @type {DocumentRow[]} */ ([]));
  const [folders, setFolders] = useState(/** @type {string[]} */ ([]));
  const last = useRef(0);
  const changed = useSignal(changes);
  const removed = useSignal(hiddenDocuments);
  const pathIn = (/** @type {string} */ of) =>
    `${collectionPath(name)}/documents?${new URLSearchParams({ search, folder, ...(of !== "all" && { state: of }) })}`;
  /** Store it in the URL, so that a user who returns finds it again. @param {Record<string, string | undefined>} part */
  const show = (part) => updateUrl(currentRoute.value.path, { ...currentRoute.value.query, ...part });
  const counted = useLoaded(
    () => Promise.all(STATES.map(async (each) => (await getPage(pathIn(each), 1)).total)),
    [search, folder, changed],
  );
  useEffect(() => setChosen([]), [search, state, folder]);
  /** @param {DocumentRow} row @param {number} at @param {DocumentRow[]} rows @param {MouseEvent} event */
  const choose = (row, at, rows, { shiftKey }) => {
    const [from, to] = shiftKey ? [Math.min(at, last.current), Math.max(at, last.current)] : [at, at];
    last.current = at;
    const span = rows.slice(from, to + 1).filter((each) => each && !removed.has(each.id));
    const others = chosen.filter((each) => !span.some(({ id }) => id === each.id));
    setChosen(chosen.some(({ id }) => id === row.id) ? others : [...others, ...span]);
  };
  /** Select all listed documents, including those not loaded yet. */
  const chooseAll = async () => {
    const all = await getAll(pathIn(state));
    setChosen(all.filter((each) => !removed.has(each.id)));
  };
  const chooseNone = () => {
    setChosen([]);
    setFolders([]);
  };
  /** @param {DocumentRow[]} rows */
  const drop = (rows) => {
    const ids = rows.map((row) => row.id);
    setChosen([]);
    removeWithUndo(hiddenDocuments, ids, t("library_removed", { n: ids.length }), async () => {
      for (let at = 0; at < ids.length; at += MAX_DELETED) {
        const body = { documents: ids.slice(at, at + MAX_DELETED) };
        await request("POST", `${collectionPath(name)}/documents/delete`, { body, keepalive: true });
      }
      changes.value += 1;
      watchJobs(name);
    });
  };
  /** @param {DocumentRow} row @param {number} at @param {DocumentRow[]} rows */
  const draw = (row, at, rows) =>
    !removed.has(row.id) &&
    html`<article aria-label=${row.name}><${Row}
      before=${html`<input type="checkbox" aria-label=${t("library_choose", { name: row.name })} checked=${chosen.some(({ id }) => id === row.id)}
        onClick=${(/** @type {MouseEvent} */ event) => choose(row, at, rows, event)} />`}
      title=${html`<a href=${link(["library", name], { document: row.id })}>${row.name}</a>`}
      soft=${html`${row.found_note && html`<a class="found-note beginning" href=${link(["library", name], { document: row.id, notes: "open" })}>✎ ${row.found_note}</a>`}<span class=${row.state}>${ICONS[row.state]} ${t(`library_${row.state}`)}</span>
        ${[documentMessage(row) && html`<${ServerMessage} of=${documentMessage(row)} />`, ...documentFacts(row)].map((fact) => fact && html` · ${fact}`)}`}>
      ${mayWrite && row.state === "failed" && html`<${ReindexButton} name=${name} id=${row.id} />`}
      ${mayWrite && html`<button class="quiet" aria-label=${t("remove_of", { name: row.name })} onClick=${() => drop([row])}>${t("remove")}</button>`}
    <//></article>`;
  const counts = counted.value;
  if (!counts) return html`<${Loading} of=${counted} />`;
  if (!counts[0] && !search && !folder) return null;
  const picked = chosen.length + folders.length;
  return html`<section class="stack" aria-label=${t("library_list")}>
    <${Folders} collection=${name} folder=${folder} version=${changed} chosen=${folders} choose=${setFolders} />
    <div class="row list-tools">
      <${Search} label=${t("library_search")} value=${search} set=${(/** @type {string} */ typed) => show({ search: typed || undefined })} />
      <div class="tabs" role="group" aria-label=${t("library_filter")}>${STATES.map(
        (each, at) => html`<button key=${each} class="quiet" aria-pressed=${each === state}
          onClick=${() => show({ state: each === "all" ? undefined : each })}>${t(each === "all" ? "library_every" : `library_${each}`)} <span class="soft">${counts[at].toLocaleString(language.value)}</span></button>`,
      )}</div>
      ${counts[0] > 0 && html`<button class="quiet" onClick=${() => chooseAll().catch(notify)}>${t("library_choose_all")}</button>`}
      ${
        picked > 0 &&
        html`<button class="primary" onClick=${() => askSelection(name, chosen, folders).catch(notify)}>${t("only_ask_n", { n: picked })}</button>
        ${mayWrite && chosen.length > 0 && html`<button class="danger" onClick=${() => drop(chosen)}>${t("library_remove_n", { n: chosen.length })}</button>`}
        <button class="quiet" onClick=${chooseNone}>${t("library_choose_none")}</button>`
      }
    </div>
    <${PagedList} path=${pathIn(state)} version=${changed} label=${t("library_list")} empty=${t("library_none_found")} row=${draw} />
  </section>`;
}

/** Go to the Ask screen and ask only these. @param {string} name of the collection @param {DocumentRow[]} rows @param {string[]} folders */
async function askSelection(name, rows, folders) {
  const part = { ...scope.value, documents: rows.map((row) => row.name), folders };
  if (rows.length > MAX_NAMES || folders.length > MAX_NAMES) return notify(t("only_too_many"));
  const { problem } = await checkScope([name], part);
  if (problem) return notify(translate(problem).text);
  setScope(part, [name]);
  navigate(["ask"]);
}
