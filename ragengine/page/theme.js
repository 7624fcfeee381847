// The theme: that of the system until the reader chooses one.

import { setIcon } from "./icons.js";
import * as storage from "./storage.js";

const KEY = "ragengine.theme";
const systemIsDark = matchMedia("(prefers-color-scheme: dark)");

function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : systemIsDark.matches;
}

export function setUpTheme(button) {
  const show = () => {
    setIcon(button, isDark() ? "sun" : "moon");
    button.setAttribute("aria-pressed", String(isDark()));
    button.title = isDark() ? "Switch to the light theme" : "Switch to the dark theme";
  };
  button.addEventListener("click", () => {
    const theme = isDark() ? "light" : "dark";
    document.documentElement.dataset.theme = theme;
    storage.write("localStorage", KEY, theme);
    show();
  });
  systemIsDark.addEventListener("change", show);
  // Another tab has chosen a theme.
  addEventListener("storage", (event) => {
    if (event.key !== KEY) return;
    if (event.newValue === "light" || event.newValue === "dark")
      document.documentElement.dataset.theme = event.newValue;
    else delete document.documentElement.dataset.theme;
    show();
  });
  show();
}
