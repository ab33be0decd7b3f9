/** Data that a part of the screen reads from the server: loading, loaded, or failed. */
import { isOnline, isUnreached, reportOffline } from "../core/api.js";
import { html, useEffect, useSignal, useState } from "../core/html.js";
import { t } from "../core/texts.js";
import { describeError, ErrorMessage } from "./notices.js";

/** @template T @typedef {{ value: T | null, problem: Message | null, again: () => void, set: (value: T) => void }} Loaded */

/**
 * Read data, and read it again when a dependency changes or the server is back. The old data stays meanwhile.
 * @template T
 * @param {() => Promise<T>} read @param {unknown[]} [dependencies]
 * @returns {Loaded<T>}
 */
export function useLoaded(read, dependencies = []) {
  const [value, setValue] = useState(/** @type {T | null} */ (null));
  const [problem, setProblem] = useState(/** @type {Message | null} */ (null));
  const [tries, setTries] = useState(0);
  const isReachable = useSignal(isOnline);
  useEffect(() => {
    if (!isReachable) return;
    let isWanted = true;
    setProblem(null);
    read().then(
      (data) => isWanted && setValue(() => data),
      // If the server was not reached, the banner above the page says so.
      (error) => isWanted && !isUnreached(error) && setProblem(describeError(error)),
    );
    return () => {
      isWanted = false;
    };
  }, [...dependencies, tries, isReachable]);
  return { value, problem, again: () => setTries(tries + 1), set: (data) => setValue(() => data) };
}

/** Show that data is loading, or why it could not be loaded. @param {{ data: Loaded<any> }} props */
export function Loading({ data: { value, problem, again } }) {
  if (problem)
    return html`<div class="row"><${ErrorMessage} message=${problem} /><button onClick=${again}>${t("try_again")}</button></div>`;
  return value === null && html`<p class="soft" aria-busy="true">${t("loading")}</p>`;
}

/**
 * Return a component that is loaded with its styles on first render, or by its `load`.
 * @param {() => Promise<any>} load returns the component @param {...string} styles CSS files
 */
export function lazyComponent(load, ...styles) {
  /** @type {any} */
  let component = null;
  const read = readOnce(async () => {
    [component] = await Promise.all([load(), ...styles.map(addStyles)]).catch((error) => {
      throw error instanceof SyntaxError ? error : reportOffline();
    });
    return component;
  });
  /** @param {any} props */
  const Lazy = (props) => {
    const loaded = useLoaded(() => read(0));
    return component ? html`<${component} ...${props} />` : html`<${Loading} data=${loaded} />`;
  };
  // Ignore errors here: rendering the component reports them.
  return Object.assign(Lazy, { load: () => void read(0).catch(() => {}) });
}

/** Add a style sheet to the page, unless it is there. @param {string} file below /page */
const addStyles = (file) =>
  new Promise((resolve, reject) => {
    const sheet = document.createElement("link");
    Object.assign(sheet, { rel: "stylesheet", href: `/page/${file}`, onload: resolve, onerror: reject });
    if (document.querySelector(`link[href$="${file}"]`)) return resolve(null);
    document.head.append(sheet);
  });

/**
 * Return a function that reads each part only once, unless reading it has failed.
 * @template T
 * @param {(at: number) => Promise<T>} read
 */
export function readOnce(read) {
  /** @type {Map<number, Promise<T>>} */
  const results = new Map();
  return (/** @type {number} */ part) => {
    const result = results.get(part) ?? read(part);
    results.set(part, result);
    result.catch(() => results.delete(part));
    return result;
  };
}
