/** Long lists that the server returns in pages. Only the pages near the window are read and rendered. */
import { getPage } from "../core/api.js";
import { html, useEffect, useElement, useLayoutEffect, useMemo, useRef, useSignal } from "../core/html.js";
import { currentRoute, updateUrl } from "../core/route.js";
import { VirtualList } from "../core/virtual_list.js";
import { Loading, readOnce, useLoaded } from "./loaded.js";

const PAGE_SIZE = 50;
const MS_OF_TYPING = 250;
// The estimated height, in pixels, of a row that has not been rendered.
const ROW_HEIGHT = 68;

/** The measured heights of each list's pages, for a user who returns to it. @type {Map<string, Map<number, number>>} */
const heights = new Map();

/**
 * Show a list at a path below /api/v1. It is read again when `path` or `version` changes; the old rows stay until then.
 * @param {{ path: string, version?: unknown, label: string, empty: string, row: (item: any, index: number, rows: any[]) => any }} props
 *   `row` renders an item, or nothing; `rows` has the items read so far, each at its index
 */
export function PagedList({ path, version, label, empty, row }) {
  const read = useMemo(() => pageReader(path), [path, version]);
  const first = useLoaded(() => read(0), [read]);
  const total = first.value?.total ?? 0;
  const measured = heights.get(path) ?? new Map();
  heights.set(path, measured);
  /** @param {any} item @param {number} index */
  const renderItem = (item, index) => row(item, index, first.value?.rows ?? []);
  return html`
    <${Loading} data=${first} />
    ${first.value && !total && html`<p class="soft">${empty}</p>`}
    ${
      total > 0 &&
      html`<div class="rows" role="list" aria-label=${label}>
        <${VirtualList} count=${Math.ceil(total / PAGE_SIZE)} measured=${measured}
          height=${(/** @type {number} */ page) => Math.min(PAGE_SIZE, total - page * PAGE_SIZE) * ROW_HEIGHT}
          row=${(/** @type {number} */ page, /** @type {number} */ height) =>
            html`<${ListPage} page=${page} total=${total} height=${height} read=${read} renderItem=${renderItem} />`} />
      </div>`
    }
  `;
}

/** Return a function that reads a page of a list. `rows` has the items of all pages that it has read. @param {string} path */
function pageReader(path) {
  /** @type {any[]} */
  const rows = [];
  return readOnce(async (page) => {
    const offset = page * PAGE_SIZE;
    const { items, total } = await getPage(path, PAGE_SIZE, offset);
    for (const [index, item] of items.entries()) rows[offset + index] = item;
    return { items, total, rows };
  });
}

/** @param {{ page: number, total: number, height: number, read: (page: number) => Promise<any>, renderItem: (item: any, index: number) => any }} props */
function ListPage({ page, total, height, read, renderItem }) {
  const loaded = useLoaded(() => read(page), [read]);
  if (!loaded.value)
    return html`<div style=${{ minBlockSize: `${height}px` }}><${Loading} data=${loaded} /></div>`;
  return loaded.value.items.map((/** @type {any} */ item, /** @type {number} */ at) => {
    const index = page * PAGE_SIZE + at;
    const content = renderItem(item, index);
    return (
      content &&
      html`<div key=${item.id ?? item.name ?? at} role="listitem" aria-setsize=${total} aria-posinset=${index + 1}>${content}</div>`
    );
  });
}

/**
 * Show a row of a list: `before`, then the title above the details, then the actions.
 * @param {{ title: any, details: any, before?: any, children?: any }} props
 */
export const Row = ({ title, details, before, children }) => html`<div class="row line">
  ${before}<div class="grow">${title}<span class="soft small">${details}</span></div><div class="row">${children}</div>
</div>`;

/**
 * Show a field for the search in the URL, which changes after a short pause in typing.
 * @param {{ label: string }} props
 */
export function Search({ label }) {
  const { search = "" } = useSignal(currentRoute).query;
  const field = useElement();
  const timer = useRef(0);
  const written = useRef("");
  useLayoutEffect(() => {
    if (search !== written.current) field.current.value = search; // a link or the back button has changed it
    written.current = search;
  }, [search]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const store = () => {
    const { path, query } = currentRoute.value;
    written.current = field.current.value.trim();
    updateUrl(path, { ...query, search: written.current || undefined });
  };
  return html`<input type="search" class="grow" maxlength="200" aria-label=${label} placeholder=${label} ref=${field}
    onInput=${() => {
      clearTimeout(timer.current);
      timer.current = setTimeout(store, MS_OF_TYPING);
    }} />`;
}
