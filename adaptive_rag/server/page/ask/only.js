/** The documents that the next questions search: the whole collection, or those chosen in the library. */
import { computed, html, signal, useSignal } from "../core/html.js";
import { documentName } from "../core/places.js";
import { collection } from "../core/session.js";
import { t } from "../core/texts.js";

// The maximum length of a condition, in characters.
const LONGEST = 2000;
const SHOWN = 3;
// Archives and web sites: their files and pages are cited by longer names.
const HOLDS_OTHERS = /\.(zip|tar|tgz|tar\.(gz|bz2|xz))$|^https?:/i;

const chosen = signal({ of: "", names: /** @type {string[]} */ ([]) });

/** The names of the chosen documents; empty if all are searched. @type {{ readonly value: string[] }} */
export const only = computed(() => (chosen.value.of === collection.value?.name ? chosen.value.names : []));

/**
 * Search only these documents from now on; without names, search all.
 * @param {string} of the collection @param {string[]} names
 * @returns {boolean} false if the condition would be too long
 */
export function askOnly(of, names) {
  if (whereOf(names).length > LONGEST) return false;
  chosen.value = { of, names };
  return true;
}

/** Return the condition that selects the passages of these documents; "" for all. @param {string[]} names */
export function whereOf(names) {
  const exact = names.filter((name) => !name.includes('"')).map((name) => `"${name}"`);
  const like = names
    .flatMap((name) => [
      ...(name.includes('"') ? [name] : []),
      ...(HOLDS_OTHERS.test(name) ? [`${name.replace(/\/$/, "")}/*`] : []),
    ])
    .map((name) => `source like "${name.replaceAll('"', "?")}"`);
  return [...(exact.length ? [`source in (${exact.join(", ")})`] : []), ...like].join(" or ");
}

/** Show which documents are searched, if not all, and a button to search all. */
export function Only() {
  const names = useSignal(only);
  const back = () => askOnly("", []);
  return (
    names.length > 0 &&
    html`<p class="small soft">${wordsOf(names)} <button type="button" class="link" onClick=${back}>${t("only_all")}</button></p>`
  );
}

/** @param {string[]} names at least one */
export function wordsOf(names) {
  const shown = names.slice(0, SHOWN).map(documentName).join(", ");
  return names.length > SHOWN
    ? t("only_these_and", { names: shown, n: names.length - SHOWN })
    : t("only_these", { names: shown });
}
