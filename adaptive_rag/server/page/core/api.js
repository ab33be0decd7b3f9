/** Send requests to /api/v1. Responses become data, errors a `Problem`, streams events. */
import { effect, signal } from "./html.js";

export const API = "/api/v1";

/** Whether the last request reached the server. */
export const isOnline = signal(true);
/** The number of requests that wait for the user to sign in. Set it to 0 to resume them. */
export const signInNeeded = signal(0);

/** An error response in the server's own words (RFC 9457). Status 0: the server was not reached. */
export class Problem extends Error {
  /** @param {number} status @param {string} detail @param {number} [retryAfter] seconds @param {string} [type] */
  constructor(status, detail, retryAfter, type = "") {
    super(detail);
    this.status = status;
    this.retryAfter = retryAfter;
    this.type = type;
  }
}

/**
 * Return the data of a response, or null if it has none.
 * @param {string} method @param {string} path below /api/v1
 * @param {{ body?: unknown, form?: FormData, signal?: AbortSignal, keepalive?: boolean, headers?: Record<string, string> }} [options]
 * @returns {Promise<any>}
 * @throws {Problem}
 */
export async function request(method, path, options = {}) {
  const answer = await send(method, path, options);
  if (answer.status === 204) return null;
  const isJson = (answer.headers.get("content-type") ?? "").includes("json");
  return isJson ? answer.json() : answer.text();
}

/** Return the path of a collection. @param {string} name */
export const collectionPath = (name) => `/collections/${encodeURIComponent(name)}`;

/** @param {string} path */
export const get = (path) => request("GET", path);
/** Return one page of a list. @param {string} path @param {number} limit @param {number} [offset] */
export const getPage = (path, limit, offset = 0) =>
  get(`${path}${path.includes("?") ? "&" : "?"}limit=${limit}&offset=${offset}`);
/** Return all items of a list. @param {string} path @returns {Promise<any[]>} */
export async function getAll(path) {
  const found = [];
  for (let total = 1; found.length < total; ) {
    const part = await getPage(path, 500, found.length);
    found.push(...part.items);
    total = part.items.length ? part.total : 0;
  }
  return found;
}
/** @param {string} path @param {unknown} [body] */
export const post = (path, body) => request("POST", path, { body });
/** @param {string} path @param {unknown} [body] */
export const put = (path, body) => request("PUT", path, { body });
/** @param {string} path @param {unknown} body */
export const patch = (path, body) => request("PATCH", path, { body });
/** @param {string} path */
export const remove = (path) => request("DELETE", path, { keepalive: true });

/**
 * Yield the events of a stream as [name, data].
 * @param {string} method @param {string} path @param {{ body?: unknown, signal?: AbortSignal }} [options]
 * @returns {AsyncGenerator<[string, any]>}
 * @throws {Problem}
 */
export async function* streamEvents(method, path, options = {}) {
  const answer = await send(method, path, options);
  const reader = /** @type {ReadableStream<Uint8Array>} */ (answer.body).getReader();
  const decoder = new TextDecoder();
  let waiting = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      waiting += decoder.decode(value, { stream: true });
      const whole = waiting.split(/\r?\n\r?\n/);
      waiting = whole.pop() ?? "";
      for (const block of whole) {
        const fields = new Map(
          block.split(/\r?\n/).map((line) => /** @type {[string, string]} */ (line.split(/: ?(.*)/s, 2))),
        );
        const data = fields.get("data");
        if (data !== undefined) yield [fields.get("event") ?? "message", JSON.parse(data)];
      }
    }
  } catch (error) {
    throw options.signal?.aborted ? error : reportOffline();
  } finally {
    reader.cancel().catch(() => {});
  }
}

/**
 * Send a request. If the session has ended, wait for a sign-in and send it again.
 * @param {string} method @param {string} path
 * @param {{ body?: unknown, form?: FormData, signal?: AbortSignal, keepalive?: boolean, headers?: Record<string, string> }} options
 * @returns {Promise<Response>}
 */
async function send(method, path, options) {
  const { body, form, signal: abort, keepalive, headers = {} } = options;
  const sent = body === undefined ? form : JSON.stringify(body);
  const all = body === undefined ? headers : { ...headers, "Content-Type": "application/json" };
  let answer;
  try {
    answer = await fetch(API + path, { method, body: sent, headers: all, signal: abort, keepalive });
  } catch (error) {
    if (abort?.aborted) throw error;
    throw reportOffline();
  }
  isOnline.value = true;
  if (answer.ok) return answer;
  if (answer.status !== 401 || path === "/session") throw await readProblem(answer);
  signInNeeded.value += 1;
  await waitUntil(() => !signInNeeded.value);
  return send(method, path, options);
}

/** Wait until a condition is true. @param {() => boolean} holds reads signals @returns {Promise<void>} */
export function waitUntil(holds) {
  return new Promise((resolve) => {
    const stop = effect(() => {
      if (!holds()) return;
      queueMicrotask(() => stop()); // the first run may come before `stop` is assigned
      resolve();
    });
  });
}

/** Record that the server was not reached, and return that problem. */
export function reportOffline() {
  isOnline.value = false;
  return new Problem(0, "");
}

/** @param {Response} answer */
async function readProblem(answer) {
  const wait = Number(answer.headers.get("retry-after")) || undefined;
  let [detail, type] = ["", ""];
  try {
    const told = await answer.json();
    type = told.type;
    detail = typeof told.detail === "string" ? told.detail : (told.title ?? detail);
  } catch {
    // The response is not JSON, so it is not from this server but from a proxy. Its status has to suffice.
  }
  return new Problem(answer.status, detail, wait, type);
}
