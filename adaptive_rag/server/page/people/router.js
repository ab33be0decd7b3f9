/** What chooses the strategy, for admins of the server: whether votes have taught it, and what that brought. */
import { get, isOnline, post, remove } from "../core/api.js";
import { html, useEffect, useSignal, useState } from "../core/html.js";
import { formatDate, formatPercent, t } from "../core/texts.js";
import { tell } from "../shell/notices.js";

/** @typedef {import("../core/types").Router} Router */

export function RouterCard() {
  const [router, setRouter] = useState(/** @type {Router | null} */ (null));
  const [isBusy, setBusy] = useState(false);
  /** @param {() => Promise<Router>} ask */
  const show = async (ask) => {
    setBusy(true);
    try {
      setRouter(await ask());
    } catch (error) {
      tell(error);
    } finally {
      setBusy(false);
    }
  };
  const isThere = useSignal(isOnline);
  useEffect(() => {
    if (isThere) show(() => get("/router"));
  }, [isThere]);
  if (!router) return html`<p class="soft" aria-busy=${isBusy}>${t("loading")}</p>`;
  const { is_learned, votes, routes, least, learned, lesson } = router;
  const isEnough = votes >= least && routes > 1;
  const shares = lesson && {
    before: formatPercent(lesson.before.accuracy),
    after: formatPercent(lesson.after.accuracy),
    n: lesson.kept_aside,
    from: lesson.learned_from,
  };
  return html`<section class="stack" aria-label=${t("router")} aria-busy=${isBusy}>
    <p role="status">
      ${is_learned && learned ? t("router_learned", { date: formatDate(learned) }) : t("router_shipped")}
      ${" "}${shares && t(lesson.is_kept ? "router_lesson" : "router_no_help", shares)}
      ${" "}${isEnough ? t("router_votes", { n: votes }) : t("router_needs", { n: votes, least })}
    </p>
    <div class="row">
      <button disabled=${!isEnough || isBusy} onClick=${() => show(() => post("/router/learn"))}>${t("teach")}</button>
      ${is_learned && html`<button disabled=${isBusy} onClick=${() => show(() => remove("/router").then(() => get("/router")))}>${t("unteach")}</button>`}
    </div>
  </section>`;
}
