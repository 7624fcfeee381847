// The fields that choose the index for new documents: one that exists, or a new name.

import { element } from "./dom.js";
import { isIndexName } from "./files.js";

const NEW = "";

export class IndexChoice {
  constructor({ names, current }) {
    this.select = element(
      "select",
      { class: "select", test: "upload-index" },
      ...names.map((name) => element("option", { value: name, text: name, selected: name === current })),
      element("option", { value: NEW, text: "New index…", selected: names.length === 0 }),
    );
    this.input = element("input", {
      type: "text",
      class: "field",
      test: "upload-new-index",
      maxlength: 63,
      autocomplete: "off",
      spellcheck: "false",
      "aria-describedby": "index-name-rule",
    });
    this.rule = element("p", {
      class: "muted",
      id: "index-name-rule",
      text: "1 to 63 letters, digits, dots, hyphens or underscores, with a letter or digit at both ends.",
    });
    this.input.addEventListener("input", () => this.#showRule(true));
    const newName = element(
      "div",
      {},
      element("label", { class: "labelled" }, element("span", { text: "Name of the new index" }), this.input),
      this.rule,
    );
    const show = () => (newName.hidden = this.select.value !== NEW);
    this.select.addEventListener("change", () => {
      show();
      if (this.select.value === NEW) this.input.focus();
    });
    show();
    this.element = element(
      "fieldset",
      {},
      element("label", { class: "labelled" }, element("span", { text: "Add to the index" }), this.select),
      newName,
    );
    if (names.length === 0) this.input.value = "documents";
  }

  /** Whether the choice is complete. Otherwise the rule for names is shown. */
  check() {
    const isValid = isIndexName(this.name);
    this.#showRule(isValid);
    if (!isValid) this.input.focus();
    return isValid;
  }

  #showRule(isKept) {
    this.input.setAttribute("aria-invalid", String(!isKept));
    this.rule.classList.toggle("invalid", !isKept);
  }

  /** The name of the chosen index. */
  get name() {
    return this.select.value === NEW ? this.input.value.trim() : this.select.value;
  }
}
