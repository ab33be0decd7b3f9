/** The light or dark theme: the system's, until the user chooses one. */
import { signal } from "./html.js";

const KEY = "adaptive-rag.theme";
const system = window.matchMedia("(prefers-color-scheme: dark)");

export const theme = signal(/** @type {"light" | "dark"} */ (current()));
show();

system.addEventListener("change", () => {
  theme.value = current();
  show();
});

/** @param {"light" | "dark"} chosen */
export function setTheme(chosen) {
  localStorage.setItem(KEY, chosen);
  theme.value = chosen;
  show();
}

function current() {
  const chosen = localStorage.getItem(KEY);
  return chosen === "light" || chosen === "dark" ? chosen : system.matches ? "dark" : "light";
}

function show() {
  document.documentElement.dataset.theme = theme.value;
}
