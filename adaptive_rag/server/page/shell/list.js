/** Long lists that the server returns in pages. Only the parts near the window are read and rendered. */
import { getPage } from "../core/api.js";
import { html, useEffect, useMemo, useRef } from "../core/html.js";
import { VirtualList } from "../core/virtual_list.js";
import { Loading, readOnce, useLoaded } from "./loaded.js";

const PAGE_SIZE = 50;
const MS_OF_TYPING = 250;
// The estimated height, in pixels, of a row that has not been rendered.
const ROW_HEIGHT = 68;

/** The measured heights of each list's parts, for a user who returns to it. @type {Map<string, Map<number, number>>} */
const heights = new Map();

/**
 * Show a list at a path below /api/v1. It is read again when `path` or `version` changes; the old rows stay until then.
 * @param {{ path: string, version?: unknown, label: string, empty: string, row: (item: any, index: number, rows: any[]) => any }} props
 *   `row` renders an item, or nothing; `rows` has the items read so far, each at its index
 */
export function PagedList({ path, version, label, empty, row }) {
  const rows = useMemo(() => /** @type {any[]} */ ([]), [path]);
  const read = useMemo(() => pageReader(path, rows), [path, version]);
  const first = useLoaded(() => read(0), [read]);
  const total = first.value?.total ?? 0;
  const measured = heights.get(path) ?? new Map();
  heights.set(path, measured);
  /** @param {any} item @param {number} index */
  const draw = (item, index) => row(item, index, rows);
  return html`
    <${Loading} of=${first} />
    ${first.value && !total && html`<p class="soft">${empty}</p>`}
    ${
      total > 0 &&
      html`<div class="rows" role="list" aria-label=${label}>
        <${VirtualList} count=${Math.ceil(total / PAGE_SIZE)} measured=${measured}
          height=${(/** @type {number} */ part) => Math.min(PAGE_SIZE, total - part * PAGE_SIZE) * ROW_HEIGHT}
          row=${(/** @type {number} */ part, /** @type {number} */ height) =>
            html`<${ListPage} part=${part} total=${total} height=${height} read=${read} draw=${draw} />`} />
      </div>`
    }
  `;
}

/** Return a function that reads a part of a list into `rows`. @param {string} path @param {any[]} rows */
const pageReader = (path, rows) =>
  readOnce(async (part) => {
    const offset = part * PAGE_SIZE;
    const found = await getPage(path, PAGE_SIZE, offset);
    for (const [index, item] of found.items.entries()) rows[offset + index] = item;
    return found;
  });

/** @param {{ part: number, total: number, height: number, read: (part: number) => Promise<any>, draw: (item: any, index: number) => any }} props */
function ListPage({ part, total, height, read, draw }) {
  const loaded = useLoaded(() => read(part), [read]);
  if (!loaded.value)
    return html`<div style=${{ minBlockSize: `${height}px` }}><${Loading} of=${loaded} /></div>`;
  return loaded.value.items.map((/** @type {any} */ item, /** @type {number} */ at) => {
    const index = part * PAGE_SIZE + at;
    const drawn = draw(item, index);
    return (
      drawn &&
      html`<div key=${item.id ?? item.name ?? at} role="listitem" aria-setsize=${total} aria-posinset=${index + 1}>${drawn}</div>`
    );
  });
}

/**
 * Show a row of a list: `before`, then the title above the details, then the actions.
 * @param {{ title: any, soft: any, before?: any, children?: any }} props
 */
export const Row = ({ title, soft, before, children }) => html`<div class="row line">
  ${before}<div class="grow">${title}<span class="soft small">${soft}</span></div><div class="row">${children}</div>
</div>`;

/**
 * Show a search field. It calls `set` after a short pause in typing.
 * @param {{ label: string, value?: string, set: (search: string) => void }} props
 */
export function Search({ label, value, set }) {
  const timer = useRef(0);
  useEffect(() => () => clearTimeout(timer.current), []);
  return html`<input type="search" class="grow" maxlength="200" aria-label=${label} placeholder=${label} defaultValue=${value}
    onInput=${(/** @type {any} */ { target }) => {
      clearTimeout(timer.current);
      timer.current = setTimeout(() => set(target.value.trim()), MS_OF_TYPING);
    }} />`;
}
