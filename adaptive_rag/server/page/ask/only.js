/** Which documents the next questions are asked of: all of the collection, or those that were chosen in its library. */
import { computed, html, signal, useSignal } from "../core/html.js";
import { documentName } from "../core/places.js";
import { collection } from "../core/session.js";
import { t } from "../core/texts.js";

// Characters that a condition may have.
const LONGEST = 2000;
const SHOWN = 3;
// What is cited by longer names: the files of an archive, the pages of a site.
const HOLDS_OTHERS = /\.(zip|tar|tgz|tar\.(gz|bz2|xz))$|^https?:/i;

const chosen = signal({ of: "", names: /** @type {string[]} */ ([]) });

/** The names of these documents; none where all are searched. @type {{ readonly value: string[] }} */
export const only = computed(() => (chosen.value.of === collection.value?.name ? chosen.value.names : []));

/** Ask these from now on, or without names all again. @param {string} of the collection @param {string[]} names @returns {boolean} whether they can be told apart */
export function askOnly(of, names) {
  if (whereOf(names).length > LONGEST) return false;
  chosen.value = { of, names };
  return true;
}

/** Return the condition that a passage is of one of these documents; "" for all. @param {string[]} names */
export function whereOf(names) {
  const exact = names.filter((name) => !name.includes('"')).map((name) => `"${name}"`);
  const like = names
    .flatMap((name) => [
      ...(name.includes('"') ? [name] : []),
      ...(HOLDS_OTHERS.test(name) ? [`${name}/*`] : []),
    ])
    .map((name) => `source like "${name.replaceAll('"', "?")}"`);
  return [...(exact.length ? [`source in (${exact.join(", ")})`] : []), ...like].join(" or ");
}

/** Above the question: which documents are searched, where not all are, and the way back to all. */
export function Only() {
  const names = useSignal(only);
  const back = () => askOnly("", []);
  return (
    names.length > 0 &&
    html`<p class="small soft">${wordsOf(names)} <button type="button" class="link" onClick=${back}>${t("only_all")}</button></p>`
  );
}

/** @param {string[]} names of at least one document */
export function wordsOf(names) {
  const shown = names.slice(0, SHOWN).map(documentName).join(", ");
  return names.length > SHOWN
    ? t("only_these_and", { names: shown, n: names.length - SHOWN })
    : t("only_these", { names: shown });
}
