/** Keep the URL and the conversation in step: a thread's URL opens it, and the back button opens the previous thread. */
import { useLayoutEffect, useRef, useSignal } from "../core/html.js";
import { currentRoute, updateUrl } from "../core/route.js";
import { notify } from "../shell/notices.js";
import { beginConversation, loadingThread, openThread, thread } from "./conversation.js";

export function useThreadUrl() {
  const { query } = useSignal(currentRoute);
  const kept = useSignal(thread);
  const last = useRef(kept?.id);
  const isNew = useRef(true);
  const asked = query.thread;
  useLayoutEffect(() => {
    const hasMoved = kept?.id !== last.current;
    const isFirst = isNew.current;
    last.current = kept?.id;
    isNew.current = false;
    if (asked === (loadingThread.value || kept?.id)) return;
    // A user who comes from another screen finds the conversation that they left.
    if (hasMoved || (isFirst && !asked)) updateUrl(["ask"], { thread: kept?.id }, hasMoved);
    else if (asked) open(asked).catch(notify);
    else beginConversation();
  }, [asked, kept?.id]);
}

/** @param {string} id */
async function open(id) {
  try {
    await openThread(id);
  } catch (error) {
    updateUrl(["ask"], { thread: thread.value?.id });
    throw error;
  }
}
