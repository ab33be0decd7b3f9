/** The chat model of the server: admins set, test and remove it. Its key is never shown. */
import { get, post, put, remove } from "../core/api.js";
import { html, useState } from "../core/html.js";
import { me } from "../core/session.js";
import { labelFor, t, translate } from "../core/texts.js";
import { openConfirmation } from "../shell/confirmation.js";
import { Field, Form } from "../shell/form.js";
import { Loading, useLoaded } from "../shell/loaded.js";
import { describeError, notify } from "../shell/notices.js";

/** @type {Record<string, string>} */
const PROVIDER_NAMES = {
  anthropic: "Anthropic",
  google_genai: "Google",
  groq: "Groq",
  mistralai: "Mistral",
  ollama: "Ollama",
};
const MODEL_NAME_PATTERN = "[A-Za-z0-9~][A-Za-z0-9_.:\\/@+#~\\-]*";
/** @param {{ name: string }} provider */
const providerName = ({ name }) => (name === "openai" ? t("model_openai") : (PROVIDER_NAMES[name] ?? name));

/** @param {FormValues} given @returns the body of a request; an empty key leaves the stored one as it is */
const toSettings = ({ provider, name, address, key }) => ({
  provider,
  name: name.trim(),
  address: address?.trim() || null,
  key: key?.trim() || null,
});

export function Model() {
  const model = useLoaded(/** @returns {Promise<ModelSettings>} */ () => get("/model"));
  if (!model.value) return html`<${Loading} data=${model} />`;
  const { set_by, name } = model.value;
  /** Wait for a change of the model, show its new state, and confirm it. @param {Promise<unknown>} request @param {string} confirmation */
  const change = async (request, confirmation) => {
    await request;
    document.getElementById("main")?.focus({ preventScroll: true }); // the form is replaced
    model.set(await get("/model"));
    me.value = await get("/me");
    notify(t(confirmation));
  };
  return html`
    <p class="soft">${t("model_use")}</p>
    ${
      set_by === "operator"
        ? html`<p class="card">${t("model_operators", { name: name ?? "" })}</p>`
        : html`<${ModelForm} key=${JSON.stringify(model.value)} settings=${model.value} change=${change} />`
    }
  `;
}

/** @param {{ settings: ModelSettings, change: (request: Promise<unknown>, confirmation: string) => Promise<void> }} props */
function ModelForm({ settings, change }) {
  const { set_by, provider, name, address, key, providers, has_operators_address } = settings;
  const usable = providers.filter((each) => !each.install);
  const [chosenName, setChosenName] = useState(provider);
  const [testResult, setTestResult] = useState(/** @type {Message | null} */ (null));
  const shownProvider = usable.find((each) => each.name === chosenName) ?? usable[0];
  const { name: chosen, takes_key, takes_address, has_operators_key } = shownProvider;
  const isStored = chosen === provider && (key === "stored" || key === "unreadable");
  const keyState = isStored ? key : has_operators_key ? "environment" : "none";
  /** @param {Event} event */
  const onTest = async ({ currentTarget }) => {
    const { form } = /** @type {HTMLButtonElement} */ (currentTarget);
    if (!form?.reportValidity()) return;
    setTestResult({ text: t("model_trying") });
    try {
      const { detail } = await post("/model/try", toSettings(Object.fromEntries(new FormData(form))));
      setTestResult(translate(detail));
    } catch (error) {
      setTestResult(describeError(error));
    }
  };
  const onRemove = () =>
    openConfirmation({
      title: t("model_remove_title"),
      question: t("model_remove_sure"),
      action: t("remove"),
      onSubmit: () => change(remove("/model"), "model_removed"),
    });
  const extraButtons = html`<button type="button" onClick=${onTest}>${t("model_try")}</button>
    ${set_by && html`<button type="button" class="danger" onClick=${onRemove}>${t("remove")}</button>`}`;
  const others = providers.filter((each) => each.install).map(providerName);
  return html`<${Form} isCard action=${t("save")} extraButtons=${extraButtons} onSubmit=${(/** @type {FormValues} */ given) => change(put("/model", toSettings(given)), "model_saved")}>
    <${Field} label=${t("model_provider")} name="provider" value=${chosen} onChoose=${setChosenName} options=${usable.map((each) => [each.name, providerName(each)])} />
    <${Field} label=${t("model_name")} name="name" required maxlength="200" defaultValue=${name ?? ""} pattern=${MODEL_NAME_PATTERN} placeholder="gpt-4.1-mini" autocapitalize="none" spellcheck=${false} />
    ${takes_address && !has_operators_address && html`<${Field} label=${t("model_address")} name="address" type="url" maxlength="500" defaultValue=${address ?? ""} placeholder="http://localhost:11434/v1" aria-describedby="model-address" />`}
    ${takes_key && html`<${Field} label=${t("model_key")} name="key" type="password" maxlength="4000" autocomplete="new-password" aria-describedby="model-key" />`}
    ${takes_key && html`<p class="soft small" id="model-key">${labelFor("model_key", keyState)}</p>`}
    ${takes_address && html`<p class="soft small" id="model-address">${t(has_operators_address ? "model_operators_address" : "model_address_rule")}</p>`}
    ${others.length > 0 && html`<p class="soft small">${t("model_others", { names: others.join(", ") })}</p>`}
    <p role="status" lang=${testResult?.lang}>${testResult?.text}</p>
  <//>`;
}
