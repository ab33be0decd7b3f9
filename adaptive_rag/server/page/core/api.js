/** Send requests to /api/v1. Responses become data, errors a `Problem`, streams events. */
import { effect, signal } from "./html.js";

export const API = "/api/v1";

/** Whether the last request reached the server. */
export const isOnline = signal(true);
/** The number of requests that wait for the user to sign in. Set it to 0 to resume them. */
export const signInNeeded = signal(0);

/** An error response in the server's own words (RFC 9457). Its status is 0 if the server was not reached. */
export class Problem extends Error {
  /** @param {number} status @param {string} detail @param {number} [retryAfter] seconds @param {string} [type] */
  constructor(status, detail, retryAfter, type = "") {
    super(detail);
    this.status = status;
    this.retryAfter = retryAfter;
    this.type = type;
  }
}

/** Return whether an error means that the server was not reached. @param {unknown} error */
export const isUnreached = (error) => error instanceof Problem && error.status === 0;

/** @typedef {{ body?: unknown, form?: FormData, signal?: AbortSignal, keepalive?: boolean, headers?: Record<string, string> }} RequestOptions */

/**
 * Send a request, and return the data of the response; null if it has none.
 * @param {string} method @param {string} path below /api/v1 @param {RequestOptions} [options]
 * @returns {Promise<any>}
 * @throws {Problem}
 */
export async function request(method, path, options = {}) {
  const response = await send(method, path, options);
  if (response.status === 204) return null;
  const isJson = (response.headers.get("content-type") ?? "").includes("json");
  return isJson ? response.json() : response.text();
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
  const items = [];
  for (let total = 1; items.length < total; ) {
    const page = await getPage(path, 500, items.length);
    items.push(...page.items);
    total = page.items.length ? page.total : 0;
  }
  return items;
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
 * @param {string} method @param {string} path @param {RequestOptions} [options]
 * @returns {AsyncGenerator<[string, any]>}
 * @throws {Problem}
 */
export async function* streamEvents(method, path, options = {}) {
  const response = await send(method, path, options);
  const reader = /** @type {ReadableStream<Uint8Array>} */ (response.body).getReader();
  const decoder = new TextDecoder();
  let buffer = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      buffer += decoder.decode(value, { stream: true });
      const blocks = buffer.split(/\r?\n\r?\n/);
      buffer = blocks.pop() ?? "";
      for (const block of blocks) {
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
 * @param {string} method @param {string} path @param {RequestOptions} options
 * @returns {Promise<Response>}
 */
async function send(method, path, options) {
  const { body, form, signal: abort, keepalive, headers = {} } = options;
  const payload = body === undefined ? form : JSON.stringify(body);
  const allHeaders = body === undefined ? headers : { ...headers, "Content-Type": "application/json" };
  let response;
  try {
    const sent = { method, body: payload, headers: allHeaders, signal: abort, keepalive };
    response = await fetch(API + path, sent);
  } catch (error) {
    if (abort?.aborted) throw error;
    throw reportOffline();
  }
  isOnline.value = true;
  if (response.ok) return response;
  if (response.status !== 401 || path === "/session") throw await readProblem(response);
  signInNeeded.value += 1;
  await waitUntil(() => !signInNeeded.value);
  return send(method, path, options);
}

/** Wait until a condition is true. @param {() => boolean} condition which reads signals @returns {Promise<void>} */
export function waitUntil(condition) {
  return new Promise((resolve) => {
    const stop = effect(() => {
      if (!condition()) return;
      queueMicrotask(() => stop()); // the first run may come before `stop` is assigned
      resolve();
    });
  });
}

/** Record that the server was not reached, and return the problem to throw. */
export function reportOffline() {
  isOnline.value = false;
  return new Problem(0, "");
}

/** Return the problem that an error response describes. @param {Response} response */
async function readProblem(response) {
  const retryAfter = Number(response.headers.get("retry-after")) || undefined;
  let [detail, type] = ["", ""];
  try {
    const problem = await response.json();
    type = problem.type;
    detail = typeof problem.detail === "string" ? problem.detail : (problem.title ?? detail);
  } catch {
    // The response is not JSON, so it is from a proxy, not from this server. Only its status is known.
  }
  return new Problem(response.status, detail, retryAfter, type);
}
