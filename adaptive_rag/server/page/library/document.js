/** The screen of a document in the library: its details, and its text with outline and passages. */
import { ask, beginConversation } from "../ask/conversation.js";
import { setScope } from "../ask/scope.js";
import { API, collectionPath, get, post } from "../core/api.js";
import { html, useEffect, useSignal, useState } from "../core/html.js";
import { documentName } from "../core/places.js";
import { navigate } from "../core/route.js";
import { formatBytes, formatDate, labelFor, t } from "../core/texts.js";
import { openDocument, opened } from "../document/opened.js";
import { DocumentPane } from "../document/pane.js";
import { DocumentText } from "../document/text.js";
import { Select } from "../shell/form.js";
import { Loading, useLoaded } from "../shell/loaded.js";
import { notify, ServerMessage } from "../shell/notices.js";
import { Page } from "./screen.js";
import { changes, watchJobs } from "./upload.js";

/** @param {{ collection: Collection, id: string }} props */
export function DocumentScreen({ collection: { name, may }, id }) {
  const path = `${collectionPath(name)}/documents/${id}`;
  const version = useSignal(changes);
  const [chosen, setChosen] = useState("");
  const openedDocument = useSignal(opened);
  const loaded = useLoaded(/** @returns {Promise<DocumentRow>} */ () => get(path), [version]);
  useEffect(
    () => () => {
      opened.value = null;
    },
    [],
  );
  const row = loaded.value;
  if (!row) return html`<${Page} title="…" back=${name}><${Loading} data=${loaded} /><//>`;
  const { sources = [] } = row;
  const source = chosen || sources[0];
  // An answer may have opened another document.
  const isOpen = openedDocument?.collection === name && sources.includes(openedDocument.source);
  const facts = [labelFor("document_state", row.state), ...documentFacts(row)];
  const asPdf = () => openDocument(name, { source, start: 0, end: 0, quote: "", page: null });
  return html`<div class=${isOpen && "ask with-document"}><${Page} title=${row.name} back=${name}>
    <p class="soft small">${facts.join(" · ")}${source && ` · ${t("library_cited_as", { name: source })}`}</p>
    ${documentMessage(row) && html`<p class=${row.problem && "bad"}><${ServerMessage} message=${documentMessage(row)} /></p>`}
    <div class="row">
      ${
        source &&
        html`<button class="primary" onClick=${() => sumUp(name, row.name)}>${t("library_sum_up")}</button>
        <button onClick=${() => askDocuments(name, [row.name])}>${t("only_ask_this")}</button>`
      }
      ${sources.length > 1 && html`<${Select} aria-label=${t("library_source")} options=${sources.map((each) => [each])} onChoose=${setChosen} />`}
      ${source === row.name && /\.pdf$/i.test(source) && html`<button onClick=${asPdf}>${t("document_as_pdf")}</button>`}
      ${!/^https?:/.test(row.name) && html`<a class="button" href=${`${API}${path}/file`} download>${t("library_download")}</a>`}
      ${may.includes("write") && html`<${ReindexButton} name=${name} id=${id} />`}
    </div>
    ${source && html`<h2 class="unseen">${t("document_text")}</h2><div class="card document whole-text"><${DocumentText} key=${source + JSON.stringify(row)} path=${path} source=${source} /></div>`}
  <//>${isOpen && html`<${DocumentPane} />`}</div>`;
}

/** Go to the Ask screen with these documents as the scope; all if none is given. @param {string} collection @param {string[]} documents */
function askDocuments(collection, documents) {
  setScope({ documents }, [collection]);
  navigate(["ask"]);
}

/** Start a conversation that asks for a summary of a document, or of all. @param {string} collection @param {string} [document] */
export function sumUp(collection, document) {
  beginConversation();
  askDocuments(collection, document ? [document] : []);
  const question = document
    ? t("library_sum_up_question", { name: documentName(document) })
    : t("library_sum_up_all");
  ask(collection, question);
}

/** Return the size of a document and when it was added, in words. @param {DocumentRow} row */
export const documentFacts = ({ chunks, bytes, added }) => [
  ...(chunks === null ? [] : [t("library_passages", { n: chunks })]),
  formatBytes(bytes),
  formatDate(added),
];

/** Return the server's message about a document, in English. @param {DocumentRow} row @returns {string} */
export const documentMessage = ({ problem, notes }) => problem ?? notes.join(" · ");

/** Show a button to re-index a document. @param {{ name: string, id: string, label?: string }} props `name` of its collection */
export function ReindexButton({ name, id, label }) {
  const reindex = async () => {
    await post(`${collectionPath(name)}/documents/${id}/reindex`);
    changes.value += 1;
    watchJobs(name);
  };
  return html`<button aria-label=${label} onClick=${() => reindex().catch(notify)}>${t("library_read_again")}</button>`;
}
