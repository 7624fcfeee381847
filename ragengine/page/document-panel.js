// The panel that shows a source in its document. It stands beside the conversation, and over it on narrow screens.

import { readDocument } from "./api.js";
import { titleOf } from "./citations.js";
import { facts, passageAlone, textOf } from "./document-content.js";
import { announce, element } from "./dom.js";
import { inOneLine } from "./errors.js";
import { setIcon } from "./icons.js";

const narrow = matchMedia("(max-width: 1099px)");

export class DocumentPanel {
  #reading = null;
  #opener = null;

  constructor(dialog) {
    this.dialog = dialog;
    dialog.addEventListener("close", () => this.#closed());
    // A panel beside the conversation is not modal, so it has to handle Escape itself.
    dialog.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      event.preventDefault();
      this.close();
    });
    // A press on the shade around the panel closes it.
    dialog.addEventListener("click", (event) => {
      if (event.target === dialog && dialog.matches(":modal")) this.close();
    });
    // A panel cannot become modal, or stop being so, while it is open.
    narrow.addEventListener("change", () => this.close());
  }

  /** Shows a source of an answer from `index`. `opener` gets the focus back. */
  async open(source, sources, index, opener) {
    this.#opener = opener ?? this.#opener;
    this.#reading?.abort();
    this.#reading = new AbortController();
    const { signal } = this.#reading;
    const body = element("div", { class: "panel-body", tabindex: "0", role: "group", "aria-label": "Document" });
    this.dialog.replaceChildren(this.#head(source, sources, index), body);
    body.append(facts(source), element("p", { class: "muted", text: "Loading the document…" }));
    if (!this.dialog.open) this.#show();
    this.dialog.querySelector(".panel-close").focus();
    try {
      if (!index) throw new Error("The index of this answer is not known.");
      const document = await readDocument(index, source.doc_id, signal);
      body.replaceChildren(
        facts({ ...source, metadata: { ...document.metadata, ...source.metadata } }),
        ...textOf(document, source),
      );
      showPassage(body);
      announce("The passage is marked in the document.");
    } catch (error) {
      if (error.name === "AbortError") return;
      const reason =
        error.status === 404
          ? "The document is not in the index any more."
          : `The document could not be loaded. ${inOneLine(error)}`;
      body.replaceChildren(
        facts(source),
        element("p", { class: "notice", text: `${reason} This is the passage that was used:` }),
        passageAlone(source),
      );
    }
  }

  close() {
    if (!this.dialog.open) return;
    this.dialog.close();
    this.#giveFocusBack();
  }

  #show() {
    if (narrow.matches) this.dialog.showModal();
    else this.dialog.show();
  }

  // The browser sends this event later than it closes the panel: it may be open again, or the focus elsewhere.
  #closed() {
    if (this.dialog.open) return;
    this.#reading?.abort();
    this.dialog.replaceChildren();
    this.#giveFocusBack();
  }

  #giveFocusBack() {
    if (this.#opener?.isConnected) this.#opener.focus();
    this.#opener = null;
  }

  #head(source, sources, index) {
    const position = sources.indexOf(source);
    const step = (label, iconName, target) => {
      const button = element("button", {
        type: "button",
        class: "icon-button",
        "aria-label": label,
        title: label,
        disabled: !target,
      });
      setIcon(button, iconName);
      if (target) button.addEventListener("click", () => this.open(target, sources, index));
      return button;
    };
    const close = element("button", {
      type: "button",
      class: "icon-button panel-close",
      "aria-label": "Close the document",
      title: "Close",
    });
    setIcon(close, "close");
    close.addEventListener("click", () => this.close());
    return element(
      "div",
      { class: "panel-head" },
      element(
        "h2",
        { id: "document-title" },
        element("span", { class: "chip-number", text: String(source.number) }),
        element("span", { text: titleOf(source) }),
      ),
      element(
        "div",
        { class: "panel-tools" },
        step("Previous source", "left", sources[position - 1]),
        step("Next source", "right", sources[position + 1]),
        close,
      ),
    );
  }
}

/** Scrolls to the passage, unless it can be seen together with the beginning. */
function showPassage(body) {
  body.scrollTop = 0;
  const mark = body.querySelector("mark");
  if (mark && mark.getBoundingClientRect().bottom > body.getBoundingClientRect().bottom - 48)
    mark.scrollIntoView({ block: "center" });
}
