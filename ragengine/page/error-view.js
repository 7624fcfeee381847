// An error in the place of what could not be shown, with a button that tries again.

import { element } from "./dom.js";
import { inWords } from "./errors.js";
import { setIcon } from "./icons.js";

export function errorElement(error, retry) {
  const { title, detail } = inWords(error);
  const button = element("button", {
    type: "button",
    class: "button",
    test: "retry",
    text: "Retry",
    on: { click: () => retry() },
  });
  setIcon(button, "again");
  return element(
    "div",
    { class: "error", test: "error", role: "alert" },
    element("strong", { text: title }),
    detail ? element("p", { text: detail }) : null,
    button,
  );
}
