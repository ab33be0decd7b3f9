/** Start the page: show the frame and the screen that the URL names. */

import { html, render } from "./core/html.js";
import "./core/scroll.js";
import { areThere } from "./core/texts.js";
import { tell } from "./shell/notices.js";
import { Shell } from "./shell/shell.js";

window.addEventListener("unhandledrejection", ({ reason }) => tell(reason));
await areThere;
render(html`<${Shell} />`, document.body);
