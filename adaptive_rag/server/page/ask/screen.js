/** The Ask screen: the conversation, and the open document beside it. */
import { html, useEffect, useLayoutEffect, useRef, useSignal } from "../core/html.js";
import { currentRoute, updateUrl } from "../core/route.js";
import { labelFor, t } from "../core/texts.js";
import { opened } from "../document/opened.js";
import { lazyComponent } from "../shell/loaded.js";
import { notify } from "../shell/notices.js";
import { Composer } from "./composer.js";
import {
  beginConversation,
  isAsking,
  loadingThread,
  openThread,
  stopAsking,
  thread,
  turns,
} from "./conversation.js";
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

/** Synchronize the URL and the conversation: a thread's URL opens it, and the back button opens the previous thread. */
function useThreadUrl() {
  const { query } = useSignal(currentRoute);
  const current = useSignal(thread);
  const previousId = useRef(current?.id);
  const isFirstRun = useRef(true);
  const threadInUrl = query.thread;
  useLayoutEffect(() => {
    const hasMoved = current?.id !== previousId.current;
    const isFirst = isFirstRun.current;
    previousId.current = current?.id;
    isFirstRun.current = false;
    if (threadInUrl === (loadingThread.value || current?.id)) return;
    // A user who comes from another screen finds the conversation that they left.
    if (hasMoved || (isFirst && !threadInUrl)) updateUrl(["ask"], { thread: current?.id }, hasMoved);
    else if (threadInUrl) openFromUrl(threadInUrl).catch(notify);
    else beginConversation();
  }, [threadInUrl, current?.id]);
}

/** Open a thread. If that fails, restore the URL of the one that is shown. @param {string} id */
async function openFromUrl(id) {
  try {
    await openThread(id);
  } catch (error) {
    updateUrl(["ask"], { thread: thread.value?.id });
    throw error;
  }
}

/** Announce to screen readers that an answer is being written, or has arrived. */
function Progress() {
  const isRunning = useSignal(isAsking);
  const last = useSignal(turns).at(-1);
  const isAnswered = last?.state === "answered" && last.steps.length > 0;
  return html`<p class="unseen" role="status">${isRunning ? t("ask_working") : isAnswered ? t("ask_answered") : ""}</p>`;
}

/** @param {KeyboardEvent} event */
function stopAtEscape({ key, isComposing, defaultPrevented, target }) {
  const isElsewhere = target instanceof Element && target.closest("aside, dialog");
  if (key === "Escape" && !isComposing && !defaultPrevented && !isElsewhere) stopAsking();
}
