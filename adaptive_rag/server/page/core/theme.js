/** The light or dark theme: the system's, until the user chooses one. */
import { effect, signal } from "./html.js";

const KEY = "adaptive-rag.theme";
const systemTheme = window.matchMedia("(prefers-color-scheme: dark)");

export const theme = signal(/** @type {"light" | "dark"} */ (currentTheme()));
effect(() => {
  document.documentElement.dataset.theme = theme.value;
});
systemTheme.addEventListener("change", () => {
  theme.value = currentTheme();
});

/** @param {"light" | "dark"} chosen */
export function setTheme(chosen) {
  localStorage.setItem(KEY, chosen);
  theme.value = chosen;
}

function currentTheme() {
  const chosen = localStorage.getItem(KEY);
  return chosen === "light" || chosen === "dark" ? chosen : systemTheme.matches ? "dark" : "light";
}
