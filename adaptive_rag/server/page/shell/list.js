/** Long lists: of what the server gives in parts, those near the window are read and drawn; the others keep their height. */
import { get, isOnline } from "../core/api.js";
import { html, useEffect, useMemo, useRef, useSignal, useState } from "../core/html.js";
import { t } from "../core/texts.js";
import { said, Trouble } from "./notices.js";

const PART = 50;
const MS_OF_TYPING = 250;
// Of a row that was never drawn, in rem.
const HEIGHT = 4.25;

/**
 * Show a list below /api/v1; it is read again when its path or version changes, and stays until that is there.
 * @param {{ path: string, version?: unknown, label: string, empty: string, row: (item: any, index: number, rows: any[]) => any }} props
 *   `row` draws an item, or nothing; `rows` are those that were read, each at its index
 */
export function PagedList({ path, version, label, empty, row }) {
  const [total, setTotal] = useState(/** @type {number | null} */ (null));
  const [problem, setProblem] = useState(/** @type {import("./notices.js").Said | null} */ (null));
  const [tries, setTries] = useState(0);
  const rows = useMemo(() => /** @type {any[]} */ ([]), [path, version]);
  /** @param {number} at @param {AbortSignal} abort */
  const read = async (at, abort) => {
    try {
      const found = await get(`${path}${path.includes("?") ? "&" : "?"}limit=${PART}&offset=${at}`, abort);
      for (const [index, item] of found.items.entries()) rows[at + index] = item;
      setTotal(found.total);
      setProblem(null);
      return found.items;
    } catch (error) {
      if (!abort.aborted) setProblem(said(error));
    }
  };
  const parts = Array.from({ length: Math.max(1, Math.ceil((total ?? 0) / PART)) }, (_, part) => part * PART);
  return html`
    ${total === null && !problem && html`<p class="soft" aria-busy="true">${t("loading")}</p>`}
    ${total === 0 && html`<p class="soft">${empty}</p>`}
    <div class="rows" ...${total && { role: "list", "aria-label": label }}>
      ${parts.map(
        (
          at,
        ) => html`<${Part} key=${at} at=${at} total=${total ?? 0} read=${read} again=${[path, version, tries].join()}
        draw=${(/** @type {any} */ item, /** @type {number} */ index) => row(item, index, rows)} />`,
      )}
    </div>
    ${problem && html`<div class="row"><${Trouble} of=${problem} /><button onClick=${() => setTries(tries + 1)}>${t("try_again")}</button></div>`}
  `;
}

/** @param {{ at: number, total: number, again: string, read: (at: number, abort: AbortSignal) => Promise<any[] | undefined>, draw: (item: any, index: number) => any }} props */
function Part({ at, total, again, read, draw }) {
  const place = useRef(/** @type {HTMLElement | null} */ (null));
  const height = useRef(`${Math.min(PART, total - at) * HEIGHT}rem`);
  const [isNear, setNear] = useState(at === 0);
  const [items, setItems] = useState(/** @type {any[] | null} */ (null));
  const isThere = useSignal(isOnline);
  useEffect(() => {
    const seen = new IntersectionObserver(
      (entries) => {
        const { isIntersecting, boundingClientRect } = entries[entries.length - 1];
        height.current = `${boundingClientRect.height}px`;
        setNear(isIntersecting);
      },
      { rootMargin: "100%" },
    );
    seen.observe(/** @type {HTMLElement} */ (place.current));
    return () => seen.disconnect();
  }, []);
  useEffect(() => {
    if (!isNear || !isThere) return;
    const abort = new AbortController();
    read(at, abort.signal).then((found) => found && setItems(found));
    return () => abort.abort();
  }, [again, isNear, isThere]);
  const isDrawn = isNear && items;
  return html`<div ref=${place} role="none" style=${{ minBlockSize: isDrawn ? "" : height.current }}>
    ${
      isDrawn &&
      items.map((item, index) => {
        const drawn = draw(item, at + index);
        return (
          drawn &&
          html`<div key=${item.id ?? item.name ?? index} role="listitem" aria-setsize=${total} aria-posinset=${at + index + 1}>${drawn}</div>`
        );
      })
    }
  </div>`;
}

/**
 * A row of a list: what it is called above what is known of it, between what comes before and what can be done.
 * @param {{ title: any, soft: any, before?: any, children?: any }} props
 */
export const Row = ({ title, soft, before, children }) => html`<div class="row line">
  ${before}<div class="grow">${title}<span class="soft small">${soft}</span></div><div class="row">${children}</div>
</div>`;

/** A field that searches a list, once nothing was typed for a moment. @param {{ label: string, value?: string, set: (search: string) => void }} props */
export function Search({ label, value, set }) {
  const timer = useRef(0);
  useEffect(() => () => clearTimeout(timer.current), []);
  return html`<input type="search" class="grow" maxlength="200" aria-label=${label} placeholder=${label} defaultValue=${value}
    onInput=${(/** @type {any} */ { target }) => {
      clearTimeout(timer.current);
      timer.current = setTimeout(() => set(target.value.trim()), MS_OF_TYPING);
    }} />`;
}
