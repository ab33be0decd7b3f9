/** Keeps the address and the conversation together: a thread's address opens it, and reloading stays in it. */
import { useEffect, useRef, useSignal } from "../core/html.js";
import { place, rename } from "../core/route.js";
import { tell } from "../shell/notices.js";
import { opening, openThread, thread } from "./conversation.js";

export function useThreadAddress() {
  const { query } = useSignal(place);
  const kept = useSignal(thread);
  const last = useRef(kept?.id);
  const asked = query.thread;
  useEffect(() => {
    const hasMoved = kept?.id !== last.current;
    last.current = kept?.id;
    if (asked === (opening.value || kept?.id)) return;
    if (asked && !hasMoved) open(asked).catch(tell);
    else rename(["ask"], { ...query, thread: kept?.id });
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
