/** The frame: the header with the navigation, and the current screen. */

import { focusQuestion } from "../ask/composer.js";
import { thread } from "../ask/conversation.js";
import { AskScreen } from "../ask/screen.js";
import { get, isOnline, signInNeeded } from "../core/api.js";
import { Component, html, useEffect, useRef, useSignal } from "../core/html.js";
import { currentRoute, link } from "../core/route.js";
import { currentCollection, me, refreshSession, signInMethods, startSession } from "../core/session.js";
import { labelFor, language, setLanguage, t } from "../core/texts.js";
import { setTheme, theme } from "../core/theme.js";
import { DropTarget } from "../library/drop.js";
import { SignIn } from "../people/sign_in.js";
import { Dialog, FormDialogHost } from "./form.js";
import { Loading, lazyComponent, useLoaded } from "./loaded.js";
import { describeError, Notices, notify } from "./notices.js";

/** The screens by the first part of the path, in the order of the navigation. */
const SCREENS = /** @type {const} */ ({
  ask: AskScreen,
  threads: lazyComponent(
    async () => (await import("../threads/screen.js")).ThreadsScreen,
    "people/people.css",
  ),
  library: lazyComponent(
    async () => (await import("../library/screen.js")).LibraryScreen,
    "library/library.css",
    "document/document.css",
  ),
  people: lazyComponent(async () => (await import("../people/screen.js")).PeopleScreen, "people/people.css"),
});

const SECONDS_BETWEEN_TRIES = 5;
const MS_OF_FIRST_SCREEN = 3000;

export function Shell() {
  useSignal(language);
  const { path } = useSignal(currentRoute);
  const user = useSignal(me);
  const mustSignIn = useSignal(signInNeeded) > 0;
  const [name = "ask"] = path;
  const isKnown = Object.hasOwn(SCREENS, name);
  const Screen = isKnown ? SCREENS[/** @type {keyof typeof SCREENS} */ (name)] : UnknownScreen;
  useEffect(() => {
    document.title = `${isKnown ? labelFor("screen", name) : t("unknown_screen")} · Adaptive RAG`;
  });
  useEffect(() => {
    // Load the other screens after the first one, so that they open even if the server is down.
    setTimeout(() => {
      for (const screen of [SCREENS.threads, SCREENS.library, SCREENS.people]) screen.load();
    }, MS_OF_FIRST_SCREEN);
    const onReturn = () => void refreshSession().catch(notify);
    window.addEventListener("focus", onReturn);
    document.addEventListener("visibilitychange", onReturn);
  }, []);
  if (!user) return html`<${Starting} isWaiting=${mustSignIn} /><${Notices} />`;
  return html`
    <a class="skip" href="#main" onClick=${skip}>${t("skip")}</a>
    <${Header} name=${name} />
    <${Offline} />
    <main id="main" tabindex="-1"><${Boundary} key=${name}><${Screen} /></${Boundary}></main>
    <${FormDialogHost} />
    <${DropTarget} />
    ${mustSignIn && html`<${Dialog} title=${t("sign_in_title")}><p class="soft">${t("session_ended")}</p><${SignIn} /><//>`}
    <${Notices} />
  `;
}

/** Skip the navigation. The URL's fragment names the screen, so it cannot name an element too. @param {Event} event */
function skip(event) {
  event.preventDefault();
  document.getElementById("main")?.focus();
}

/** Show that the URL names no screen. */
const UnknownScreen = () =>
  html`<div class="screen stack"><h1>${t("unknown_screen")}</h1><p><a class="button" href=${link(["ask"])}>${labelFor("screen", "ask")}</a></p></div>`;

/** @param {{ name: string }} props of the current screen */
function Header({ name }) {
  const isDark = useSignal(theme) === "dark";
  const isEnglish = useSignal(language) === "en";
  const collection = useSignal(currentCollection);
  const user = useSignal(me);
  const account = useSignal(signInMethods)?.needed && user;
  const askUrl = link(["ask"], { thread: useSignal(thread)?.id });
  const libraryUrl = link(collection ? ["library", collection.name] : ["library"]);
  /** @type {Record<string, string>} */
  const urls = { ask: askUrl, library: libraryUrl };
  return html`<header class="header">
    <a class="row brand" href=${askUrl} aria-label="Adaptive RAG"><img src="/page/icon.svg" alt="" width="24" height="24" /><span>Adaptive RAG</span></a>
    <nav class="tabs" aria-label=${t("nav")}>
      ${Object.keys(SCREENS).map(
        (screen) => html`<a class="button quiet" aria-current=${screen === name ? "page" : undefined}
          href=${urls[screen] ?? link([screen])}>${labelFor("screen", screen)}</a>`,
      )}
    </nav>
    <div class="header-tools">
      ${account && html`<a class="button quiet one-line" href=${link(["people"])} title=${labelFor("tab", "account")}>${account.name}</a>`}
      <button class="quiet" onClick=${() => setLanguage(isEnglish ? "de" : "en").catch(notify)} aria-label=${t("other_language")}>${isEnglish ? "DE" : "EN"}</button>
      <button class="quiet" onClick=${() => setTheme(isDark ? "light" : "dark")} aria-label=${t(isDark ? "light_theme" : "dark_theme")}>${isDark ? "☀" : "☾"}</button>
    </div>
  </header>`;
}

/** Show a banner while the server is not reached, and try to reach it again. */
function Offline() {
  const isReachable = useSignal(isOnline);
  useEffect(() => {
    if (isReachable) return;
    const timer = setInterval(() => get("/session").catch(() => {}), SECONDS_BETWEEN_TRIES * 1000);
    return () => clearInterval(timer);
  }, [isReachable]);
  return isReachable ? null : html`<p class="offline" role="status">${t("offline")}</p>`;
}

/** Show a screen, or an error message if it fails to render. */
class Boundary extends Component {
  /** @type {{ error?: unknown }} */
  state = {};

  /** @param {unknown} error */
  componentDidCatch(error) {
    console.error(error);
    this.setState({ error });
  }

  render() {
    if (!this.state.error) return this.props.children;
    return html`<div class="screen stack" role="alert">
      <h1>${t("broken_title")}</h1>
      <p class="soft">${describeError(this.state.error).text}</p>
      <p><button class="primary" onClick=${() => window.location.reload()}>${t("reload")}</button></p>
    </div>`;
  }
}

/** Show that the page is loading, or the sign-in, until the user is known. @param {{ isWaiting: boolean }} props */
function Starting({ isWaiting }) {
  const start = useLoaded(startSession);
  const hasSignedIn = useRef(false);
  hasSignedIn.current ||= isWaiting;
  useEffect(() => () => hasSignedIn.current && setTimeout(focusQuestion), []);
  return html`<main class="starting stack">
    <${Offline} />
    ${isWaiting ? html`<h1>${t("sign_in_title")}</h1><${SignIn} />` : html`<${Loading} data=${start} />`}
  </main>`;
}
