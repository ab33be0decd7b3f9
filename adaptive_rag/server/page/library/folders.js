/** The folders of a collection: the path to the open folder, and its subfolders, which can be opened or selected. */
import { collectionPath, get } from "../core/api.js";
import { html } from "../core/html.js";
import { link } from "../core/route.js";
import { t } from "../core/texts.js";
import { useLoaded } from "../shell/loaded.js";

/**
 * @param {{ collection: string, folder: string, version: number, chosen: string[], choose: (folders: string[]) => void }} props
 *   `folder` is the open folder, "" for all documents
 */
export function Folders({ collection, folder, version, chosen, choose }) {
  const search = new URLSearchParams({ folder });
  const loaded = useLoaded(
    /** @returns {Promise<{ name: string, documents: number }[]>} */
    () => get(`${collectionPath(collection)}/folders?${search}`),
    [folder, version],
  );
  const steps = folder ? folder.split("/") : [];
  const folders = loaded.value ?? [];
  if (!steps.length && !folders.length) return null;
  /** @param {string} words @param {string} [path] */
  const opener = (words, path) =>
    html`<a href=${link(["library", collection], { folder: path || undefined })}>${words}</a>`;
  /** @param {string} name */
  const toggle = (name) =>
    choose(chosen.includes(name) ? chosen.filter((each) => each !== name) : [...chosen, name]);
  return html`<section class="stack" aria-label=${t("folders")}>
    ${
      steps.length > 0 &&
      html`<nav class="row small trail" aria-label=${t("folders_trail")}>${opener(t("folders_all"))}
      ${steps.map((step, at) => {
        const path = steps.slice(0, at + 1).join("/");
        return html`<span aria-hidden="true">›</span>${path === folder ? html`<span aria-current="page">${step}</span>` : opener(step, path)}`;
      })}</nav>`
    }
    ${
      folders.length > 0 &&
      html`<ul class="plain folders">${folders.map(
        ({ name, documents }) => html`<li key=${name} class="row">
        <input type="checkbox" aria-label=${t("library_choose", { name })} checked=${chosen.includes(name)} onChange=${() => toggle(name)} />
        ${opener(`${name.split("/").at(-1)}/`, name)} <span class="small soft">${t("library_documents", { n: documents })}</span></li>`,
      )}</ul>`
    }
  </section>`;
}
