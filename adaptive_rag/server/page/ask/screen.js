/** The Ask screen: the conversation, and the open document beside it. */
import { html, useEffect, useSignal } from "../core/html.js";
import { labelFor, t } from "../core/texts.js";
import { opened } from "../document/opened.js";
import { lazyComponent } from "../shell/loaded.js";
import { Composer } from "./composer.js";
import { isAsking, loadingThread, stopAsking, turns } from "./conversation.js";
import { useThreadUrl } from "./thread_url.js";
import { Welcome } from "./welcome.js";

const Turns = lazyComponent(
  async () => (await import("./turns.js")).Turns,
  "ask/answer.css",
  "why/why.css",
  "another/another.css",
);
const DocumentPane = lazyComponent(
  async () => (await import("../document/pane.js")).DocumentPane,
  "document/document.css",
);

export function AskScreen() {
  const hasTurns = useSignal(turns).length > 0;
  const isLoading = useSignal(loadingThread) !== "";
  const isOpen = useSignal(opened) !== null;
  useThreadUrl();
  useEffect(() => {
    // Load the parts of an answer after the first screen is shown.
    setTimeout(Turns.load);
    window.addEventListener("keydown", stopAtEscape);
    return () => window.removeEventListener("keydown", stopAtEscape);
  }, []);
  return html`<div class=${isOpen ? "ask with-document" : "ask"}>
    <section class="conversation" aria-label=${labelFor("screen", "ask")}>
      <h1 class="unseen">${labelFor("screen", "ask")}</h1>
      <div class="turns">
        ${hasTurns ? html`<${Turns} />` : isLoading ? html`<p class="turn soft" aria-busy="true">${t("loading")}</p>` : html`<${Welcome} />`}
      </div>
      <${Progress} />
      <${Composer} />
    </section>
    ${isOpen && html`<${DocumentPane} />`}
  </div>`;
}

/** Announce to screen readers that an answer is being written, or has arrived. */
function Progress() {
  const isRunning = useSignal(isAsking);
  const last = useSignal(turns).at(-1);
  const isAnswered = last?.state === "answered" && last.steps.length > 0;
  return html`<p class="unseen" role="status">${isRunning ? t("ask_working") : isAnswered ? t("ask_answered") : ""}</p>`;
}

/** @param {KeyboardEvent} event */
function stopAtEscape({ key, defaultPrevented, target }) {
  const isElsewhere = target instanceof Element && target.closest("aside, dialog");
  if (key === "Escape" && !defaultPrevented && !isElsewhere) stopAsking();
}
