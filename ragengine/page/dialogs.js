// Modal dialogs. The browser keeps the focus inside and gives it back when a dialog is closed.

import { element } from "./dom.js";

let lastId = 0;

/** Creates a dialog with a title. It is removed from the page when it is closed. */
export function newDialog({ title, test, wide = false }, ...children) {
  const id = `dialog-title-${++lastId}`;
  const dialog = element(
    "dialog",
    { class: wide ? "dialog wide" : "dialog", test, "aria-labelledby": id },
    element("h2", { id, text: title }),
    ...children,
  );
  dialog.addEventListener("close", () => {
    dialog.remove();
    restoreCaret();
  });
  document.body.append(dialog);
  return dialog;
}

/** Chromium gives a field the focus back without its caret, so that nothing could be typed. */
function restoreCaret() {
  const field = document.activeElement;
  if (!field?.matches("input, textarea")) return;
  field.blur();
  field.focus({ preventScroll: true });
}

/** The two buttons at the end of a form in a dialog. */
export function formButtons(dialog, submit, { danger = false } = {}) {
  const cancel = element("button", {
    type: "button",
    class: "button quiet",
    text: "Cancel",
    on: { click: () => dialog().close() },
  });
  return element(
    "div",
    { class: "dialog-buttons" },
    cancel,
    element("button", {
      type: "submit",
      class: danger ? "button danger" : "button primary",
      test: "dialog-submit",
      text: submit,
    }),
  );
}

/** Shows a form and returns its value, or null if the dialog was closed. */
function askForm({ title, test, submit, danger }, fields, value) {
  return new Promise((resolve) => {
    let dialog = null;
    let result = null;
    const form = element(
      "form",
      {},
      ...fields,
      formButtons(() => dialog, submit, { danger }),
    );
    dialog = newDialog({ title, test }, form);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      result = value();
      dialog.close();
    });
    dialog.addEventListener("close", () => resolve(result));
    dialog.showModal();
    if (danger) form.querySelector("button").focus();
  });
}

export async function confirm({ title, text, submit }) {
  return (
    (await askForm({ title, test: "confirm-dialog", submit, danger: true }, [element("p", { text })], () => true)) ===
    true
  );
}

/** Asks for a text. The options of the field are attributes. */
export function askText({ title, text, label, submit, test, ...attributes }) {
  const input = element("input", { class: "field", type: "text", required: true, autofocus: true, ...attributes });
  if (attributes.value) input.value = attributes.value;
  const fields = [
    text ? element("p", { text }) : null,
    element("label", { class: "labelled" }, element("span", { text: label }), input),
  ].filter(Boolean);
  return askForm({ title, test, submit }, fields, () => input.value.trim());
}
