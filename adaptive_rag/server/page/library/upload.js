/** Upload files, and follow the jobs that index them. Both continue while other screens are shown. */
import {
  collectionPath,
  get,
  getAll,
  isOnline,
  isUnreached,
  Problem,
  post,
  request,
  streamEvents,
  waitUntil,
} from "../core/api.js";
import { signal } from "../core/html.js";
import { readCollections } from "../core/session.js";
import { t, translate } from "../core/texts.js";
import { isConfirmed } from "../shell/confirmation.js";
import { describeError, finishRemovals, notify } from "../shell/notices.js";

// Small batches, so that the progress bar moves. The server accepts larger ones.
const BATCH_FILES = 20;
const BATCH_BYTES = 10_000_000;
const ATTEMPTS = 6;

/** @typedef {{ file: File, name: string }} NamedFile a file with its path, as in "reports/2024.pdf" */
/** @typedef {{ bytes: number, sent: number, files: number, uploaded: number, job: any, left: number, problems: Message[] }} Work */

/**
 * The work on each collection: the bytes and files to send, and those sent; the current job; the number of waiting jobs.
 * @type {{ value: Record<string, Work> }}
 */
export const work = signal({});
/** Counts changes to documents. Lists are read again when it changes. */
export const changes = signal(0);

const NO_WORK = { bytes: 0, sent: 0, files: 0, uploaded: 0, job: null, left: 0, problems: [] };
/** @type {Map<string, { files: NamedFile[], abort: AbortController }>} the files to send, by collection */
const uploads = new Map();
/** @type {Map<string, boolean>} the watched collections; true means that new jobs may have been added */
const watchedCollections = new Map();

window.addEventListener("beforeunload", (event) => {
  if (uploads.size) event.preventDefault();
});

/** Change the work on a collection. @param {string} collection @param {(before: Work) => Partial<Work>} update */
export function updateWork(collection, update) {
  const before = work.value[collection] ?? NO_WORK;
  work.value = { ...work.value, [collection]: { ...before, ...update(before) } };
}

/** Show problems below the progress. @param {string} collection @param {Message[]} messages */
const addProblems = (collection, messages) =>
  updateWork(collection, ({ problems }) => ({ problems: [...problems, ...messages] }));

/**
 * Upload files, and follow their indexing. Files that cannot be sent are reported; the others continue.
 * @param {string} collection
 * @param {NamedFile[]} files
 */
export async function addFiles(collection, files) {
  const readable = await selectFiles(collection, files);
  // A file of the same name keeps the id of its document, so a removal that can still be undone would delete it.
  await finishRemovals();
  const accepted = await confirmReplacements(collection, readable);
  updateWork(collection, (now) => ({
    bytes: now.bytes + totalSize(accepted),
    files: now.files + accepted.length,
  }));
  const running = uploads.get(collection);
  if (running) {
    for (const each of accepted) running.files.push(each);
    return;
  }
  const abort = new AbortController();
  uploads.set(collection, { files: accepted, abort });
  /** @type {NamedFile[]} */
  let batch = [];
  try {
    while (accepted.length) {
      batch = takeBatch(accepted);
      await sendBatch(collection, batch, abort.signal);
      updateWork(collection, ({ sent, uploaded }) => ({
        sent: sent + totalSize(batch),
        uploaded: uploaded + batch.length,
      }));
      // The batch has been sent, even if the lists cannot be read again.
      await refreshLists().catch(notify);
      watchJobs(collection);
    }
  } catch (error) {
    if (!abort.signal.aborted) {
      notify(error);
      const unsent = [...batch, ...accepted].map(({ name }) => ({ text: t("library_not_sent", { name }) }));
      addProblems(collection, unsent);
    }
  } finally {
    uploads.delete(collection);
    updateWork(collection, () => ({ bytes: 0, sent: 0, files: 0, uploaded: 0 }));
  }
}

/**
 * Return the files that the server can read, and report the others.
 * @param {string} collection @param {NamedFile[]} files @returns {Promise<NamedFile[]>}
 */
async function selectFiles(collection, files) {
  /** @type {{ suffixes: string[], megabytes: number }} */
  const { suffixes, megabytes } = await get(`${collectionPath(collection)}/documents/uploadable`);
  // Office creates files such as "~$report.docx" next to an open document.
  const wanted = files.filter(({ name }) => !/(^|\/)~\$[^/]*$/.test(name));
  const skipped = files.length - wanted.length;
  if (skipped) notify(t("library_skipped", { n: skipped }));
  return wanted.filter(({ file, name }) => {
    // Skip files such as .DS_Store, which the system has made.
    if (/(^|\/)(\.|(thumbs\.db|desktop\.ini)$)/i.test(name)) return false;
    const isReadable = suffixes.some((suffix) => name.toLowerCase().endsWith(suffix));
    if (isReadable && file.size <= megabytes * 1e6) return true;
    addProblems(collection, [
      { text: t(isReadable ? "library_too_large" : "library_unread_kind", { name, most: megabytes }) },
    ]);
    return false;
  });
}

/**
 * Ask before files replace documents of the same names, and return the files to send.
 * @param {string} collection @param {NamedFile[]} files
 */
async function confirmReplacements(collection, files) {
  if (!files.length) return files;
  const existing = new Set((await getAll(`${collectionPath(collection)}/documents`)).map(({ name }) => name));
  // The server composes accented letters, which file systems such as that of macOS take apart.
  const isNew = (/** @type {NamedFile} */ { name }) => !existing.has(name.normalize());
  const names = files.filter((file) => !isNew(file)).map(({ name }) => name);
  const n = names.length;
  if (!n) return files;
  const shownNames = names.slice(0, 10).join(", ") + (n > 10 ? ", …" : "");
  const question = t("library_replace_sure", { n, names: shownNames });
  return (await isConfirmed(t("library_replace"), question)) ? files : files.filter(isNew);
}

/** Read the lists of documents and the sizes of collections again. */
function refreshLists() {
  changes.value += 1;
  return readCollections();
}

/** Remove the next batch from `files` and return it. @param {NamedFile[]} files */
function takeBatch(files) {
  let bytes = 0;
  const batchEnd = files.findIndex(({ file }, at) => {
    bytes += file.size;
    return at > 0 && (at >= BATCH_FILES || bytes > BATCH_BYTES);
  });
  return files.splice(0, batchEnd < 0 ? files.length : batchEnd);
}

/**
 * Send a batch. The server rejects the whole batch if one file is bad; then send each file alone, and report the bad ones.
 * @param {string} collection @param {NamedFile[]} batch @param {AbortSignal} abort @returns {Promise<void>}
 */
async function sendBatch(collection, batch, abort) {
  const headers = { "Idempotency-Key": crypto.getRandomValues(new Uint32Array(4)).join("-") };
  const form = new FormData();
  for (const { file, name } of batch) form.append("files", file, name);
  for (let attempt = 1; ; attempt++) {
    try {
      const options = { form, headers, signal: abort };
      return await request("POST", `${collectionPath(collection)}/documents`, options);
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      // The browser reports a file that is gone like a lost connection, but the server answers.
      const isFileGone =
        attempt > 1 &&
        isUnreached(error) &&
        (await get("/session").then(
          () => true,
          () => false,
        ));
      if ([413, 422].includes(error.status) || isFileGone) {
        const name = batch[0].name;
        if (batch.length > 1) for (const each of batch) await sendBatch(collection, [each], abort);
        else if (isFileGone) addProblems(collection, [{ text: t("library_gone", { name }) }]);
        else {
          const { text, lang } = describeError(error);
          addProblems(collection, [{ text: `${name}: ${text}`, lang }]);
        }
        return;
      }
      if (![0, 429, 503].includes(error.status) || attempt === ATTEMPTS) throw error;
      abort.throwIfAborted();
      await new Promise((resolve, reject) => {
        setTimeout(resolve, (error.retryAfter ?? 2 ** attempt) * 1000);
        abort.addEventListener("abort", () => reject(abort.reason), { once: true });
      });
    }
  }
}

/** Return the bytes of files. @param {NamedFile[]} files */
const totalSize = (files) => files.reduce((sum, { file }) => sum + file.size, 0);

/** Follow the jobs of a collection, also those that are added meanwhile. Wait if the server is not reached. @param {string} collection */
export async function watchJobs(collection) {
  const isWatched = watchedCollections.has(collection);
  watchedCollections.set(collection, true);
  if (isWatched) return;
  try {
    while (watchedCollections.get(collection)) {
      watchedCollections.set(collection, false);
      try {
        await followJobs(collection);
      } catch (error) {
        if (!isUnreached(error)) throw error;
        await waitUntil(() => isOnline.value);
        watchedCollections.set(collection, true);
        refreshLists().catch(notify);
      }
    }
  } catch (error) {
    // A deleted collection has no jobs.
    if (!(error instanceof Problem && error.status === 404)) notify(error);
  } finally {
    watchedCollections.delete(collection);
    updateWork(collection, () => ({ job: null, left: 0 }));
  }
}

/** Show the progress of the open jobs of a collection until none is left. @param {string} collection */
async function followJobs(collection) {
  for (let jobs = await openJobs(collection); jobs.length; jobs = await openJobs(collection)) {
    let state = jobs[0].state;
    const path = `${collectionPath(collection)}/jobs/${jobs[0].id}/events`;
    for await (const [name, job] of streamEvents("GET", path)) {
      // A job that starts to run changes the marks of its documents.
      if (name === "progress" && job.state !== state) changes.value += 1;
      state = job?.state;
      if (name === "progress") updateWork(collection, () => ({ job, left: jobs.length - 1 }));
      else addProblems(collection, jobProblems(job));
    }
    await refreshLists();
  }
}

/** Return the problems of a finished job. @param {any} job @returns {Message[]} */
const jobProblems = ({ problems = [], error }) =>
  [...problems.map((/** @type {any} */ each) => each.problem), error]
    .filter(Boolean)
    .map((text) => translate(text));

/** Return the running job, then the queued ones, oldest first. @param {string} collection @returns {Promise<any[]>} */
async function openJobs(collection) {
  const pages = ["running", "queued"].map((state) =>
    get(`${collectionPath(collection)}/jobs?state=${state}&limit=500`),
  );
  return (await Promise.all(pages)).flatMap((page) => page.items.reverse());
}

/** Stop the upload and the indexing. What is already indexed stays. @param {string} collection */
export async function cancelWork(collection) {
  uploads.get(collection)?.abort.abort();
  for (const { id, kind } of await openJobs(collection))
    if (kind !== "remove") await post(`${collectionPath(collection)}/jobs/${id}/cancel`);
}
