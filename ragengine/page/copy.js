// Buttons that copy a text.

import { announce, element } from "./dom.js";
import { setIcon } from "./icons.js";

/** A button that copies what `text` returns when it is pressed. */
export function copyButton({ label, test, text }) {
  const button = element("button", {
    type: "button",
    class: "icon-button small",
    test,
    "aria-label": label,
    title: label,
  });
  setIcon(button, "copy");
  let reset = 0;
  button.addEventListener("click", async () => {
    const copied = await copy(text());
    setIcon(button, copied ? "check" : "close");
    announce(copied ? "Copied." : "The browser did not allow copying.");
    clearTimeout(reset);
    reset = setTimeout(() => setIcon(button, "copy"), 1500);
  });
  return button;
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text);
  }
}

/** Pages without HTTPS that are not on this machine have no clipboard: a selection is copied there. */
function copyBySelection(text) {
  const focused = document.activeElement;
  const field = element("textarea", { class: "visually-hidden", "aria-hidden": "true", tabindex: "-1" });
  field.value = text;
  // A modal dialog makes everything outside of it inert.
  (focused?.closest("dialog") ?? document.body).append(field);
  field.select();
  try {
    return document.execCommand("copy");
  } catch {
    return false;
  } finally {
    field.remove();
    focused?.focus();
  }
}
