/** The router, for admins of the server: whether it has learned from votes, and how much that has helped. */
import { get, post, remove } from "../core/api.js";
import { html, useState } from "../core/html.js";
import { formatDate, formatPercent, labelFor, t } from "../core/texts.js";
import { Loading, useLoaded } from "../shell/loaded.js";
import { notify } from "../shell/notices.js";

export function RouterCard() {
  const read = /** @returns {Promise<Router>} */ () => get("/router");
  const router = useLoaded(read);
  const [isBusy, setBusy] = useState(false);
  /** Run a request that returns the new state. @param {() => Promise<Router>} request */
  const change = async (request) => {
    setBusy(true);
    await request().then(router.set, notify);
    setBusy(false);
  };
  if (!router.value) return html`<${Loading} data=${router} />`;
  const { is_learned, votes, routes, least, learned, lesson } = router.value;
  const isEnough = votes >= least && routes > 1;
  const shares = lesson && {
    before: formatPercent(lesson.before.accuracy),
    after: formatPercent(lesson.after.accuracy),
    n: lesson.kept_aside,
    from: lesson.learned_from,
    othersBefore: formatPercent(lesson.others_before),
    othersAfter: formatPercent(lesson.others_after),
  };
  return html`<section class="stack" aria-label=${labelFor("tab", "router")} aria-busy=${isBusy}>
    <p role="status">
      ${is_learned && learned ? t("router_learned", { date: formatDate(learned) }) : t("router_shipped")}
      ${" "}${shares && t(lesson.is_kept ? "router_lesson" : "router_no_help", shares)}
      ${" "}${isEnough ? t("router_votes", { n: votes }) : t("router_needs", { n: votes, least })}
    </p>
    <div class="row">
      <button disabled=${!isEnough || isBusy} onClick=${() => change(() => post("/router/learn"))}>${t("teach")}</button>
      ${is_learned && html`<button disabled=${isBusy} onClick=${() => change(() => remove("/router").then(read))}>${t("unteach")}</button>`}
    </div>
  </section>`;
}
