/** The screen to share a thread: with people by name, with everybody who has its address, or with all readers of its collections. */
import { get, put, remove } from "../core/api.js";
import { html, useEffect, useElement, useVersion } from "../core/html.js";
import { link } from "../core/route.js";
import { formatDate, labelFor, t } from "../core/texts.js";
import { CopyField } from "../people/copy_field.js";
import { Field, Form } from "../shell/form.js";
import { Row } from "../shell/list.js";
import { Loading, useLoaded } from "../shell/loaded.js";
import { notify } from "../shell/notices.js";

const OPEN_TO = /** @type {const} */ (["people", "link", "collection"]);

/** @param {{ id: string }} props */
export function Sharing({ id }) {
  const [version, reload] = useVersion();
  const heading = useElement();
  const path = `/threads/${id}/sharing`;
  const thread = useLoaded(() => get(`/threads/${id}`), [id]);
  const sharing = useLoaded(() => get(path), [version]);
  const areLoaded = thread.value && sharing.value;
  useEffect(() => heading.current?.focus({ preventScroll: true }), [!areLoaded]);
  if (!areLoaded)
    return html`<div class="screen"><${Loading} data=${thread.problem ? thread : sharing} /></div>`;
  const { title, collections } = thread.value;
  const address = `${location.origin}${location.pathname}${link(["ask"], { thread: id })}`;
  /** @param {string} name */
  const sharePath = (name) => `${path}/${encodeURIComponent(name)}`;
  /** Show the stored state after a change, and after one that failed. @param {Promise<unknown>} request */
  const change = (request) => request.catch(notify).then(reload);
  return html`<div class="screen stack">
    <p class="small"><a href=${link(["threads"])}>${labelFor("screen", "threads")}</a></p>
    <h1 tabindex="-1" ref=${heading}>${t("share_of", { title: title || t("thread_untitled") })}</h1>
    <p class="soft">${t("share_intro", { names: collections.join(", "), n: collections.length })}</p>
    <div class="fields"><${Field} label=${t("share_open_to")} value=${sharing.value.open_to} options=${OPEN_TO.map((way) => [way, labelFor("open_to", way)])}
      onChoose=${(/** @type {string} */ way) => change(put(path, { open_to: way }))} /></div>
    <${CopyField} label=${t("share_address")} text=${address} note="" />
    <${Form} isCard action=${t("share")} notFound="share_unknown" onSubmit=${(/** @type {FormValues} */ { name }) => put(sharePath(name.trim().toLowerCase())).then(reload)}>
      <${Field} label=${t("share_name")} name="name" required maxlength="100" autocapitalize="none" />
    <//>
    ${
      sharing.value.people.length
        ? html`<ul class="plain rows" aria-label=${t("share_with")}>${sharing.value.people.map(
            (/** @type {{ name: string, since: string }} */ { name, since }) => html`<li key=${name}>
              <${Row} title=${name} details=${t("share_since", { date: formatDate(since) })}>
                <button class="quiet" aria-label=${t("remove_of", { name })} onClick=${() => change(remove(sharePath(name)))}>${t("remove")}</button>
              <//></li>`,
          )}</ul>`
        : html`<p class="soft">${t("share_nobody")}</p>`
    }
  </div>`;
}
