// Short messages in a corner, for what has no other place.

import { byId, element } from "./dom.js";
import { setIcon } from "./icons.js";

const SHOWN_MS = 12_000;

export function toast(text) {
  const close = element("button", { type: "button", class: "icon-button small", "aria-label": "Close this message" });
  setIcon(close, "close");
  const shown = element("div", { class: "toast", test: "toast", role: "alert" }, element("span", { text }), close);
  close.addEventListener("click", () => shown.remove());
  byId("toasts").append(shown);
  setTimeout(() => shown.remove(), SHOWN_MS);
}
