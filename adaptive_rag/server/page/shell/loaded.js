/** Data that a part of the screen reads from the server: loading, loaded, or failed. */
import { isOnline, Problem, reportOffline } from "../core/api.js";
import { html, useEffect, useSignal, useState } from "../core/html.js";
import { t } from "../core/texts.js";
import { ErrorMessage, errorMessage } from "./notices.js";

/** @template T @typedef {{ value: T | null, problem: Message | null, again: () => void, set: (value: T) => void }} Loaded */

/**
 * Read data, and read it again when a dependency changes or the server is back. The old data stays meanwhile.
 * @template T
 * @param {() => Promise<T>} read @param {unknown[]} [on] the dependencies
 * @returns {Loaded<T>}
 */
export function useLoaded(read, on = []) {
  const [value, setValue] = useState(/** @type {T | null} */ (null));
  const [problem, setProblem] = useState(/** @type {Message | null} */ (null));
  const [tries, setTries] = useState(0);
  const isThere = useSignal(isOnline);
  useEffect(() => {
    if (!isThere) return;
    let isWanted = true;
    setProblem(null);
    read().then(
      (found) => isWanted && setValue(() => found),
      // If the server was not reached, the banner above the page says so.
      (error) => isWanted && !(error instanceof Problem && !error.status) && setProblem(errorMessage(error)),
    );
    return () => {
      isWanted = false;
    };
  }, [...on, tries, isThere]);
  return { value, problem, again: () => setTries(tries + 1), set: (found) => setValue(() => found) };
}

/** Show that data is loading, or why it could not be loaded. @param {{ of: Loaded<any> }} props */
export function Loading({ of: { value, problem, again } }) {
  if (problem)
    return html`<div class="row"><${ErrorMessage} of=${problem} /><button onClick=${again}>${t("try_again")}</button></div>`;
  return value === null && html`<p class="soft" aria-busy="true">${t("loading")}</p>`;
}

/**
 * Return a component that is loaded with its styles on first render, or by its `load`.
 * @param {() => Promise<any>} find loads the component @param {...string} styles CSS files
 */
export function lazyComponent(find, ...styles) {
  /** @type {any} */
  let component = null;
  const read = readOnce(async () => {
    [component] = await Promise.all([find(), ...styles.map(addStyles)]).catch((error) => {
      throw error instanceof SyntaxError ? error : reportOffline();
    });
    return component;
  });
  /** @param {any} props */
  const Lazy = (props) => {
    const loaded = useLoaded(() => read(0));
    return component ? html`<${component} ...${props} />` : html`<${Loading} of=${loaded} />`;
  };
  // Ignore errors here: rendering the component reports them.
  return Object.assign(Lazy, { load: () => void read(0).catch(() => {}) });
}

/** @param {string} file */
const addStyles = (file) =>
  new Promise((resolve, reject) => {
    const sheet = document.createElement("link");
    Object.assign(sheet, { rel: "stylesheet", href: `/page/${file}`, onload: resolve, onerror: reject });
    if (document.querySelector(`link[href$="${file}"]`)) return resolve(null);
    document.head.append(sheet);
  });

/**
 * Return a function that reads each part once. A part that failed is read again.
 * @template T
 * @param {(at: number) => Promise<T>} read
 */
export function readOnce(read) {
  /** @type {Map<number, Promise<T>>} */
  const kept = new Map();
  return (/** @type {number} */ at) => {
    const found = kept.get(at) ?? read(at);
    kept.set(at, found);
    found.catch(() => kept.delete(at));
    return found;
  };
}
