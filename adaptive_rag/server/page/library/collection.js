/** One collection: its size, a form to add documents, and the list of documents. */
import { collectionPath, get, patch, post, remove } from "../core/api.js";
import { html, useEffect, useElement, useSignal } from "../core/html.js";
import { link, navigate } from "../core/route.js";
import { readCollections } from "../core/session.js";
import { t } from "../core/texts.js";
import { Field, openForm } from "../shell/form.js";
import { Loading, useLoaded } from "../shell/loaded.js";
import { finishRemovals, notify } from "../shell/notices.js";
import { Size } from "./collections.js";
import { sumUp } from "./document.js";
import { Documents } from "./documents.js";
import { Page } from "./screen.js";
import { addFiles, cancelWork, updateWork, watchJobs, work } from "./upload.js";

/** @param {{ collection: Collection }} props */
export function CollectionScreen({ collection }) {
  const { name, may, description } = collection;
  const mayWrite = may.includes("write");
  useEffect(() => {
    if (mayWrite) watchJobs(name);
  }, []);
  const isEmpty = collection.documents === 0;
  return html`<${Page} title=${name}>
    ${description && html`<p>${description}</p>`}
    <div class="row">
      <${Size} collection=${collection} />
      ${collection.chunks > 0 && may.includes("ask") && html`<button onClick=${() => sumUp(name)}>${t("library_sum_up")}</button>`}
      ${
        may.includes("manage") &&
        html`<a class="button" href=${link(["library", name, "members"])}>${t("library_members")}</a>
        <button onClick=${() => openDescription(collection)}>${t("library_describe")}</button>
        <button class="danger" onClick=${() => confirmDeletion(name)}>${t("library_delete")}</button>`
      }
    </div>
    ${mayWrite ? html`<${AddButtons} name=${name} isEmpty=${isEmpty} />` : isEmpty && html`<p>${t("library_empty")}</p>`}
    <${Progress} name=${name} />
    ${may.includes("read") && html`<${Documents} collection=${collection} />`}
  <//>`;
}

/** Open the form for the description and the example questions of a collection. @param {Collection} collection */
function openDescription({ name, description, examples }) {
  const exampleOf = new Map(examples.map((each) => [each.question, each]));
  openForm({
    title: t("library_describe"),
    fields: html`
      <${Field} label=${t("library_description")} name="description" rows="3" maxlength="2000" defaultValue=${description} />
      <${Field} label=${t("library_examples")} name="questions" rows="5" defaultValue=${[...exampleOf.keys()].join("\n")} />`,
    action: t("save"),
    onSubmit: async ({ description, questions }) => {
      const lines = /** @type {string[]} */ (
        questions.split("\n").map((/** @type {string} */ line) => line.trim())
      );
      // Keep the other fields of a known question.
      const examples = lines.filter(Boolean).map((question) => exampleOf.get(question) ?? { question });
      await patch(collectionPath(name), { description, examples });
      await readCollections();
    },
  });
}

/** Ask for the name of a collection before it is deleted. @param {string} name */
function confirmDeletion(name) {
  openForm({
    title: t("delete_title", { name }),
    fields: html`<p>${t("library_delete_text")}</p>
      <${Field} label=${t("library_delete_type", { name })} name="typed" required pattern=${name.replaceAll(".", "\\.")} />`,
    action: t("library_delete"),
    isDanger: true,
    onSubmit: async () => {
      await remove(collectionPath(name));
      await readCollections();
      navigate(["library"]);
    },
  });
}

/** Ask for the address of a web page, and add the page. @param {string} name of the collection */
function addPage(name) {
  openForm({
    title: t("library_add_page"),
    fields: html`<${Field} label=${t("model_address")} name="address" type="url" required pattern="https?://.+" maxlength="1000" placeholder="https://" />`,
    action: t("library_address_read"),
    onSubmit: async (given) => {
      await finishRemovals(); // as with files
      await post(`${collectionPath(name)}/documents/address`, given);
      watchJobs(name);
    },
  });
}

/** Show buttons that add files, a folder or a web page to a collection. @param {{ name: string, isEmpty: boolean }} props */
function AddButtons({ name, isEmpty }) {
  const [files, folder] = [useElement(), useElement()];
  const onFiles = (/** @type {any} */ { target }) => {
    const given = [...target.files].map((file) => ({ file, name: file.webkitRelativePath || file.name }));
    addFiles(name, given).catch(notify);
    target.value = "";
  };
  return html`<div class=${isEmpty ? "drop-here stack" : "stack"}>
    ${isEmpty && html`<h2>${t("library_drop_here")}</h2>`}
    <div class="row">
      <button class="primary" onClick=${() => files.current.click()}>${t("library_add_files")}</button>
      <button onClick=${() => folder.current.click()}>${t("library_add_folder")}</button>
      <button onClick=${() => addPage(name)}>${t("library_add_page")}</button>
    </div>
    <input type="file" multiple hidden ref=${files} onChange=${onFiles} />
    <input type="file" webkitdirectory hidden ref=${folder} onChange=${onFiles} />
    ${isEmpty && html`<p class="small soft">${t("library_stays")}</p><${FileKinds} name=${name} />`}
  </div>`;
}

/** Show which kinds of files can be read. @param {{ name: string }} props of the collection */
function FileKinds({ name }) {
  const uploadable = useLoaded(() => get(`${collectionPath(name)}/documents/uploadable`));
  return html`<details class="small soft"><summary>${t("library_kinds")}</summary>
    <${Loading} data=${uploadable} />${uploadable.value?.suffixes.join(" ")}
  </details>`;
}

/** Show the progress of uploads and jobs, and their problems. @param {{ name: string }} props */
function Progress({ name }) {
  const current = useSignal(work)[name];
  if (!current) return null;
  const { bytes, sent, files, uploaded, job, left, problems } = current;
  return html`
    ${
      (files > 0 || job) &&
      html`<section class="card stack" aria-label=${t("library_progress")}>
      ${files > 0 && html`<${Bar} text=${t("library_sending", { done: uploaded, n: files })} done=${sent} total=${bytes} />`}
      ${job && html`<${Bar} text=${describeJob(job)} done=${job.done} total=${job.kind === "remove" ? null : job.total} />`}
      <div class="row"><span class="small soft grow">${left > 0 && t("library_jobs_left", { n: left })}</span>
        ${job?.kind !== "remove" && html`<button disabled=${job?.is_cancelled} onClick=${() => cancelWork(name).catch(notify)}>${t("cancel")}</button>`}</div>
    </section>`
    }
    ${
      problems.length > 0 &&
      html`<section class="card" role="alert">
      <div class="row"><h2 class="grow">${t("library_problems", { n: problems.length })}</h2>
        <button class="quiet" aria-label=${t("close")} onClick=${() => updateWork(name, () => ({ problems: [] }))}>×</button></div>
      <ul class="problems">${problems.map(({ text, lang }) => html`<li lang=${lang}>${text}</li>`)}</ul>
    </section>`
    }`;
}

/** Return what a job is doing, in words. @param {any} job */
function describeJob({ kind, state, done, total }) {
  if (state === "queued" && total === null) return t("library_queued");
  if (kind === "remove") return t("library_removing");
  return total === null ? t("library_reading") : t("library_indexing", { done, n: total });
}

/** @param {{ text: string, done: number, total: number | null }} props */
const Bar = ({ text, done, total }) =>
  html`<label>${text}<progress max=${total || 1} value=${total ? done : undefined}></progress></label>`;
