/** The Threads screen: earlier conversations by day, to search, rename, share, export and delete. */
import { beginConversation, thread } from "../ask/conversation.js";
import { API, patch, remove } from "../core/api.js";
import { html, signal, useDisclosure, useSignal, useVersion } from "../core/html.js";
import { currentRoute, link } from "../core/route.js";
import { signInMethods } from "../core/session.js";
import { formatDay, formatTime, labelFor, t } from "../core/texts.js";
import { Field, openForm } from "../shell/form.js";
import { PagedList, Row, Search } from "../shell/list.js";
import { removeWithUndo } from "../shell/notices.js";
import { Sharing } from "./sharing.js";

/** The threads that are deleted, or will be when their notice times out. @type {{ value: Set<string> }} */
const hiddenThreads = signal(new Set());

/** The formats of exported threads: names in the API, and labels. */
const EXPORT_FORMATS = Object.entries({ markdown: "Markdown", docx: "Word", pdf: "PDF" });

export function ThreadsScreen() {
  const id = useSignal(currentRoute).path[1];
  return id ? html`<${Sharing} key=${id} id=${id} />` : html`<${Threads} />`;
}

function Threads() {
  const isTeam = useSignal(signInMethods)?.needed;
  const { search = "" } = useSignal(currentRoute).query;
  const hidden = useSignal(hiddenThreads);
  const [version, reload] = useVersion();
  /** @param {Thread} row @param {string} title */
  const deleteThread = ({ id }, title) => {
    // If this thread is open, begin a new conversation.
    const leave = () => thread.value?.id === id && beginConversation();
    leave();
    removeWithUndo(hiddenThreads, [id], t("thread_deleted", { title }), async () => {
      await remove(`/threads/${id}`);
      leave();
      reload();
    });
  };
  /** @param {Thread} row */
  const rename = ({ id, title }) =>
    openForm({
      title: t("rename"),
      fields: html`<${Field} label=${t("thread_title")} name="title" required maxlength="200" defaultValue=${title} />`,
      action: t("save"),
      onSubmit: (given) => patch(`/threads/${id}`, given).then(reload),
    });
  /** @param {Thread} row @param {number} at @param {Thread[]} rows */
  const renderRow = (row, at, rows) => {
    const title = row.title || t("thread_untitled");
    const previous = rows.findLast((each, index) => index < at && each && !hidden.has(each.id));
    const day = formatDay(row.updated);
    return (
      !hidden.has(row.id) &&
      html`
      ${day !== (previous && formatDay(previous.updated)) && html`<h2 class="soft small">${day}</h2>`}
      <${Row} title=${html`<${Title} row=${row} title=${title} />`} details=${`${row.collections.join(", ")} · ${formatTime(row.updated)}`}>
        ${!row.shared_by && html`<button class="quiet" aria-label=${t("thread_rename_of", { title })} onClick=${() => rename(row)}>${t("rename")}</button>`}
        ${!row.shared_by && isTeam && html`<a class="button quiet" href=${link(["threads", row.id])} aria-label=${t("share_of", { title })}>${t("share")}</a>`}
        <${Export} id=${row.id} title=${title} />
        ${!row.shared_by && html`<button class="quiet" aria-label=${t("thread_delete_of", { title })} onClick=${() => deleteThread(row, title)}>${t("delete")}</button>`}
      <//>`
    );
  };
  return html`<div class="screen stack">
    <h1>${labelFor("screen", "threads")}</h1>
    <${Search} label=${t("threads_search")} />
    <${PagedList} path=${`/threads?search=${encodeURIComponent(search)}`} version=${version} label=${labelFor("screen", "threads")}
      empty=${t(search ? "threads_not_found" : "threads_none")} row=${renderRow} />
  </div>`;
}

/** Show a thread's title, whether it is shared, and the excerpt that a search has found. @param {{ row: Thread, title: string }} props */
function Title({ row: { id, shared_by, is_shared, found }, title }) {
  const words = shared_by ? t("shared_by", { name: shared_by }) : is_shared && t("shared");
  return html`<span><a href=${link(["ask"], { thread: id, turn: found?.turn })}>${title}${
    found &&
    html`<br /><span class="small excerpt">${found.excerpt.map(({ text, is_match }) => (is_match ? html`<mark>${text}</mark>` : text))}</span>`
  }</a> ${words && html`<span class="badge">${words}</span>`}</span>`;
}

/** Show a button that opens the files to download a thread as. @param {{ id: string, title: string }} props */
function Export({ id, title }) {
  const { isOpen, toggle, button, onKeyDown } = useDisclosure();
  const label = t("thread_export_of", { title });
  // The second click of a double click must not close the menu. It cannot choose a file, because these are below the button.
  return html`<div class="menu" onKeyDown=${onKeyDown}>
    <button class="quiet" ref=${button} aria-expanded=${isOpen} aria-label=${label} onClick=${(/** @type {MouseEvent} */ { detail }) => detail < 2 && toggle()}>${t("export")}</button>
    ${isOpen && html`<div class="card stack">${EXPORT_FORMATS.map(([form, name]) => html`<a class="button" download href=${`${API}/threads/${id}/export?form=${form}`} aria-label=${`${label} (${name})`}>${name}</a>`)}</div>`}
  </div>`;
}
