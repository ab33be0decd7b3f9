/** The library: all collections, one of them, its members, or one of its documents, depending on the URL. */
import { html, useEffect, useElement, useSignal } from "../core/html.js";
import { currentRoute, link } from "../core/route.js";
import { collections } from "../core/session.js";
import { t } from "../core/texts.js";
import { CollectionScreen } from "./collection.js";
import { Collections } from "./collections.js";
import { DocumentScreen } from "./document.js";
import { Members } from "./members.js";

export function LibraryScreen() {
  const { path, query } = useSignal(currentRoute);
  const all = useSignal(collections);
  const [, name, part] = path;
  if (!name) return html`<${Collections} collections=${all} />`;
  const collection = all.find((each) => each.name === name);
  if (!collection) return html`<${Page} title=${name}><p>${t("library_no_such")}</p><//>`;
  if (query.document && collection.may.includes("read"))
    return html`<${DocumentScreen} key=${query.document} collection=${collection} id=${query.document} />`;
  return html`<${part === "members" ? Members : CollectionScreen} key=${name} collection=${collection} />`;
}

/**
 * Show a screen of the library: breadcrumbs, the title, which gets the focus, and the content.
 * @param {{ title: string, back?: string, children: any }} props `back` is the collection that it belongs to
 */
export function Page({ title, back, children }) {
  const heading = useElement();
  useEffect(() => heading.current?.focus({ preventScroll: true }), []);
  return html`<div class="screen stack">
    <nav class="row small trail" aria-label=${t("library_trail")}>
      <a href=${link(["library"])}>${t("library_all")}</a>
      ${back && html`<span aria-hidden="true">›</span><a href=${link(["library", back])}>${back}</a>`}
    </nav>
    <h1 tabindex="-1" ref=${heading}>${title}</h1>
    ${children}
  </div>`;
}
