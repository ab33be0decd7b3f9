/** Synchronize the URL and the conversation: a thread's URL opens it, and the back button opens the previous thread. */
import { useLayoutEffect, useRef, useSignal } from "../core/html.js";
import { currentRoute, updateUrl } from "../core/route.js";
import { notify } from "../shell/notices.js";
import { beginConversation, loadingThread, openThread, thread } from "./conversation.js";

export function useThreadUrl() {
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
