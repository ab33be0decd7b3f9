/** The form for a new collection: in the library, or for dropped files when there is no collection for them. */
import { post } from "../core/api.js";
import { html } from "../core/html.js";
import { me, readCollections } from "../core/session.js";
import { t } from "../core/texts.js";
import { Field } from "../shell/form.js";

export const mayCreateCollection = () => me.value?.is_admin === true;

/** Return the form for a new collection. @param {(name: string) => void} onCreate @param {string} [proposed] a name */
export const newCollectionForm = (onCreate, proposed) => ({
  title: t("library_new"),
  action: t("library_make"),
  /** @param {FormValues} given */
  onSubmit: async (given) => {
    await post("/collections", given);
    await readCollections();
    onCreate(given.name);
  },
  fields: html`
    <${Field} label=${t("name")} name="name" required maxlength="100" pattern=${"[A-Za-z0-9][A-Za-z0-9_.\\-]*"} title=${t("library_name_rule")} aria-describedby="name-rule" defaultValue=${proposed} />
    <p id="name-rule" class="small soft">${t("library_name_rule")}</p>
    <${Field} label=${t("library_description")} name="description" rows="2" maxlength="2000" />`,
});
