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

/** @param {"light" | "dark"} choice */
export function setTheme(choice) {
  localStorage.setItem(KEY, choice);
  theme.value = choice;
}

/** Return the theme that the user chose, or else the system's. */
function currentTheme() {
  const choice = localStorage.getItem(KEY);
  return choice === "light" || choice === "dark" ? choice : systemTheme.matches ? "dark" : "light";
}
