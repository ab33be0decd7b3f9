/** The log of the server, and feedback on answers, newest first. */
import { API, collectionPath } from "../core/api.js";
import { html, useSignal, useState } from "../core/html.js";
import { collections, collectionsWith, me } from "../core/session.js";
import { formatDate, labelFor, t } from "../core/texts.js";
import { Select } from "../shell/form.js";
import { PagedList, Row } from "../shell/list.js";

export function EventLog() {
  /** @param {any} event */
  const renderRow = ({ at, user, address, action, subject }) => html`<${Row}
    title=${[labelFor("event", action), subject].filter(Boolean).join(" · ")}
    details=${[formatDate(at), user, address].filter(Boolean).join(" · ")} />`;
  return html`<${PagedList} path="/events" label=${labelFor("tab", "events")} empty=${t("events_none")} row=${renderRow} />`;
}

export function FeedbackList() {
  useSignal(collections);
  const administered = collectionsWith("manage");
  const [name, setName] = useState(administered[0].name);
  return html`
    <div class="row">
      <label class="row">${t("ask_collection")}
        <${Select} options=${administered.map((each) => [each.name])} onChoose=${setName} />
      </label>
      ${useSignal(me)?.is_admin && html`<a class="button" download href=${`${API}/feedback/export`}>${t("opinions_export")}</a>`}
    </div>
    <${PagedList} path=${`${collectionPath(name)}/feedback`} label=${labelFor("tab", "opinions")} empty=${t("opinions_none")} row=${renderFeedback} />
  `;
}

/** @param {any} row */
function renderFeedback({ by, question, route, is_good, better_route, comment, created }) {
  const better = better_route && t("opinion_better", { route: labelFor("strategy", better_route) });
  const judged = is_good !== null && labelFor("vote", is_good ? "good" : "bad");
  const details = [labelFor("strategy", route), judged, better].filter(Boolean).join(" · ");
  return html`<${Row} details=${`${by} · ${formatDate(created)}`}
    title=${html`<span>${question}</span><span class="small">${details}</span>${comment && html`<q class="small">${comment}</q>`}`} />`;
}
