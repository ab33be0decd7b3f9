/** The light or dark theme: the system's, until the user chooses one. */
import { effect, signal } from "./html.js";

const KEY = "adaptive-rag.theme";
const system = window.matchMedia("(prefers-color-scheme: dark)");

export const theme = signal(/** @type {"light" | "dark"} */ (current()));
effect(() => {
  document.documentElement.dataset.theme = theme.value;
});
system.addEventListener("change", () => {
  theme.value = current();
});

/** @param {"light" | "dark"} chosen */
export function setTheme(chosen) {
  localStorage.setItem(KEY, chosen);
  theme.value = chosen;
}

function current() {
  const chosen = localStorage.getItem(KEY);
  return chosen === "light" || chosen === "dark" ? chosen : system.matches ? "dark" : "light";
}
