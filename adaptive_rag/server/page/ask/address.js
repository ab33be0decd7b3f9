/** Keep the URL and the conversation in step: a thread's URL opens it, and the back button opens the previous thread. */
import { useLayoutEffect, useRef, useSignal } from "../core/html.js";
import { place, rename } from "../core/route.js";
import { tell } from "../shell/notices.js";
import { beginConversation, opening, openThread, thread } from "./conversation.js";

export function useThreadAddress() {
  const { query } = useSignal(place);
  const kept = useSignal(thread);
  const last = useRef(kept?.id);
  const isNew = useRef(true);
  const asked = query.thread;
  useLayoutEffect(() => {
    const hasMoved = kept?.id !== last.current;
    const isFirst = isNew.current;
    last.current = kept?.id;
    isNew.current = false;
    if (asked === (opening.value || kept?.id)) return;
    // A user who comes from another screen finds the conversation that they left.
    if (hasMoved || (isFirst && !asked)) rename(["ask"], { thread: kept?.id }, hasMoved);
    else if (asked) open(asked).catch(tell);
    else beginConversation();
  }, [asked, kept?.id]);
}

/** @param {string} id */
async function open(id) {
  try {
    await openThread(id);
  } catch (error) {
    rename(["ask"], { thread: thread.value?.id });
    throw error;
  }
}
