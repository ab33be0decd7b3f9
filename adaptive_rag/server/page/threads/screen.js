/** The Threads screen: earlier conversations by day, to search, rename, export and delete. */
import { beginConversation, thread } from "../ask/conversation.js";
import { API, patch, remove } from "../core/api.js";
import { html, signal, useSignal, useState, useVersion } from "../core/html.js";
import { link } from "../core/route.js";
import { formatDay, formatTime, t } from "../core/texts.js";
import { Field, openForm } from "../shell/form.js";
import { PagedList, Row, Search } from "../shell/list.js";
import { removeWithUndo } from "../shell/notices.js";

/** The threads that are deleted, or will be when their notice times out. @type {{ value: Set<string> }} */
const gone = signal(new Set());

export function ThreadsScreen() {
  const [search, setSearch] = useState("");
  const hidden = useSignal(gone);
  const [version, again] = useVersion();
  /** @param {Thread} row @param {string} title */
  const drop = ({ id }, title) =>
    removeWithUndo(gone, [id], t("thread_deleted", { title }), async () => {
      await remove(`/threads/${id}`);
      if (thread.value?.id === id) beginConversation();
      again();
    });
  /** @param {Thread} row */
  const rename = ({ id, title }) =>
    openForm({
      title: t("rename"),
      fields: html`<${Field} label=${t("thread_title")} name="title" required maxlength="200" defaultValue=${title} />`,
      action: t("save"),
      act: (given) => patch(`/threads/${id}`, given).then(again),
    });
  /** @param {Thread} row @param {number} at @param {Thread[]} rows */
  const draw = (row, at, rows) => {
    const title = row.title || t("thread_untitled");
    const before = rows.findLast((each, index) => index < at && each && !hidden.has(each.id));
    const day = formatDay(row.updated);
    return (
      !hidden.has(row.id) &&
      html`
      ${day !== (before && formatDay(before.updated)) && html`<h2 class="soft small">${day}</h2>`}
      <${Row} title=${html`<a href=${link(["ask"], { thread: row.id })}>${title}</a>`} soft=${`${row.collections.join(", ")} · ${formatTime(row.updated)}`}>
        <button class="quiet" aria-label=${t("thread_rename_of", { title })} onClick=${() => rename(row)}>${t("rename")}</button>
        <a class="button quiet" download href=${`${API}/threads/${row.id}/export`} aria-label=${t("thread_export_of", { title })}>${t("export")}</a>
        <button class="quiet" aria-label=${t("thread_delete_of", { title })} onClick=${() => drop(row, title)}>${t("delete")}</button>
      <//>`
    );
  };
  return html`<div class="screen stack">
    <h1>${t("nav_threads")}</h1>
    <${Search} label=${t("threads_search")} set=${setSearch} />
    <${PagedList} path=${`/threads?search=${encodeURIComponent(search)}`} version=${version} label=${t("nav_threads")}
      empty=${t(search ? "threads_not_found" : "threads_none")} row=${draw} />
  </div>`;
}
