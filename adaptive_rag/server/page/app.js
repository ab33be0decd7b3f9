/** Start the page: show its frame, with the screen that the URL names. */

import { html, render } from "./core/html.js";
import "./core/scroll.js";
import { textsLoaded } from "./core/texts.js";
import { notify } from "./shell/notices.js";
import { Shell } from "./shell/shell.js";

window.addEventListener("unhandledrejection", ({ reason }) => notify(reason));
await textsLoaded;
render(html`<${Shell} />`, document.body);
