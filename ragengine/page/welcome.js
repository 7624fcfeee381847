// What an empty conversation shows: what can be asked, or how to add documents.

import { describeIndex, firstDocuments } from "./api.js";
import { titleOf } from "./citations.js";
import { beginning, count, element } from "./dom.js";
import { icon } from "./icons.js";

/** `ask(question)` asks one of the suggestions, `addDocuments()` opens the dialog for files. */
export class Welcome {
  #shownFor = 0;

  constructor(indexes, { ask, addDocuments }) {
    this.indexes = indexes;
    this.ask = ask;
    this.addDocuments = addDocuments;
    this.element = element("div", { class: "welcome", test: "welcome" });
  }

  async show() {
    const shown = ++this.#shownFor;
    const { current, isLoaded } = this.indexes;
    if (!isLoaded) return;
    if (!current) {
      this.#showStart();
      return;
    }
    this.#showQuestions(current, null, []);
    const [description, listed] = await Promise.all([
      describeIndex(current).catch(() => null),
      firstDocuments(current, 2).catch(() => null),
    ]);
    // Another index was chosen in the meantime.
    if (shown === this.#shownFor) this.#showQuestions(current, description, listed?.documents ?? []);
  }

  showError(content) {
    this.#shownFor++;
    this.element.replaceChildren(content);
  }

  #showStart() {
    this.element.replaceChildren(
      element("p", { class: "welcome-title", text: "Add your first documents" }),
      element("p", {
        class: "muted",
        text: "There is no index yet. Answers come from the documents that you add, with their sources.",
      }),
      element(
        "div",
        { class: "suggestions" },
        this.#addCard("Choose text files", "Or drop them anywhere on this page."),
        card("link", {
          href: "/docs",
          icon: "file",
          title: "Send them by the API",
          text: "POST /index takes documents with their metadata.",
        }),
      ),
      element(
        "p",
        { class: "muted" },
        "From a terminal: ",
        element("code", { text: "ragengine ingest docs/ --index handbook" }),
      ),
    );
  }

  #showQuestions(index, description, documents) {
    const isEmpty = description?.documents === 0;
    const size = description
      ? `${count(description.documents, "document")}, ${count(description.chunks, "passage")}`
      : null;
    const questions = documents.map((document) => `What does “${beginning(titleOf(document), 50)}” say?`);
    const suggestions = [
      ...questions,
      "What are these documents about?",
      "Which rules or limits do the documents name?",
    ].slice(0, 2);
    this.element.replaceChildren(
      element("p", {
        class: "welcome-title",
        text: isEmpty ? "This index has no documents yet" : "What would you like to know?",
      }),
      element(
        "p",
        { class: "muted" },
        "Answers come from ",
        element("strong", { text: index }),
        size ? ` (${size}).` : ".",
      ),
      element(
        "div",
        { class: "suggestions" },
        ...(isEmpty
          ? []
          : suggestions.map((question) =>
              card("button", { icon: "search", title: question, press: () => this.ask(question) }),
            )),
        this.#addCard("Add documents", "Choose text files, or drop them here."),
      ),
    );
  }

  #addCard(title, text) {
    return card("button", { icon: "upload", title, text, press: () => this.addDocuments() });
  }
}

function card(kind, { icon: iconName, title, text, press, href }) {
  const content = [
    icon(iconName),
    element("span", { class: "suggestion-title", text: title }),
    text ? element("span", { class: "muted", text }) : null,
  ];
  if (kind === "link") return element("a", { class: "suggestion", test: "suggestion", href }, ...content);
  return element(
    "button",
    { type: "button", class: "suggestion", test: "suggestion", on: { click: press } },
    ...content,
  );
}
