/** The Settings screen: account and tokens; for admins also users, the chat model, the log, and feedback. */
import { html, useSignal } from "../core/html.js";
import { currentRoute, link } from "../core/route.js";
import { collections, collectionsWith, me, signInMethods } from "../core/session.js";
import { labelFor } from "../core/texts.js";
import { Account } from "./account.js";
import { Model } from "./model.js";
import { EventLog, FeedbackList } from "./records.js";
import { RouterCard } from "./router.js";
import { Tokens } from "./tokens.js";
import { Users } from "./users.js";

export function PeopleScreen() {
  const tabInUrl = useSignal(currentRoute).path[1] ?? "";
  const isAdmin = useSignal(me)?.is_admin;
  const hasUsers = useSignal(signInMethods)?.needed;
  useSignal(collections);
  const isOwner = collectionsWith("manage").length > 0;
  const tabs = {
    account: Account,
    ...(hasUsers && { tokens: Tokens }),
    ...(hasUsers && isAdmin && { users: Users }),
    ...(isAdmin && { model: Model, events: EventLog, router: RouterCard }),
    ...(isOwner && { opinions: FeedbackList }),
  };
  const shownTab = /** @type {keyof typeof tabs} */ (Object.hasOwn(tabs, tabInUrl) ? tabInUrl : "account");
  const names = /** @type {(keyof typeof tabs)[]} */ (Object.keys(tabs));
  return html`<div class="screen stack">
    <h1>${labelFor("screen", "people")}</h1>
    <nav class="tabs" aria-label=${labelFor("screen", "people")}>
      ${names.map((each) => html`<a class="button quiet" href=${link(["people", each])} aria-current=${each === shownTab ? "page" : undefined}>${labelFor("tab", each)}</a>`)}
    </nav>
    <${tabs[shownTab]} />
  </div>`;
}
