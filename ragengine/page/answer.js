// An answer in the conversation, from waiting for it to its sources and buttons.

import { linkCitations } from "./citations.js";
import { copyButton } from "./copy.js";
import { announce, element } from "./dom.js";
import { errorElement } from "./error-view.js";
import { explanationOf } from "./explanation.js";
import { thumbs } from "./feedback.js";
import { setIcon } from "./icons.js";
import { LiveMarkdown } from "./live-markdown.js";
import { loadMarkdown } from "./markdown.js";
import { sourceChips } from "./sources.js";

const MAX_ANNOUNCED = 2000;

/** Loads the libraries for Markdown before the first answer comes. */
export function prepare() {
  return loadMarkdown().catch(() => {});
}

/**
 * `actions` has what the reader can do: `openSource(source, sources, opener)`, `askAgain()` and `retry()`.
 */
export class Answer {
  #markdown = null;
  #reply = null;

  constructor(actions) {
    this.actions = actions;
    this.content = element("div", { class: "markdown" });
    this.below = element("div", { class: "below" });
    this.element = element(
      "article",
      { class: "message assistant", test: "message", data: { role: "assistant" }, tabindex: "-1" },
      element("h2", { class: "visually-hidden", text: "Answer" }),
      this.content,
      this.below,
    );
  }

  /** Shows that the answer is on its way. */
  wait() {
    this.element.setAttribute("aria-busy", "true");
    this.waiting = element("p", { class: "waiting" }, dots(), element("span", { text: "Searching the documents…" }));
    this.content.replaceChildren(this.waiting);
  }

  append(text) {
    if (text === "") return;
    this.waiting = null;
    this.#started().append(text);
  }

  #started() {
    if (!this.#markdown) {
      this.content.replaceChildren();
      this.#markdown = new LiveMarkdown(this.content);
    }
    return this.#markdown;
  }

  /** Shows the whole reply, with everything below it. */
  async finish(reply) {
    const text = reply.answer ?? this.#markdown?.text ?? "";
    await this.#end(text);
    this.#showBelow({ ...reply, answer: text });
    // An answer in a conversation that is not shown would confuse.
    if (this.element.isConnected) announce(`Answer: ${this.content.innerText.slice(0, MAX_ANNOUNCED)}`);
  }

  /** Shows that the reader has stopped the answer. The text so far stays. */
  async stop() {
    const text = this.#markdown?.text ?? "";
    await this.#end(text);
    this.#showBelow({ answer: text, stopped: true });
    announce("The answer was stopped.");
  }

  async fail(error) {
    const text = this.#markdown?.text ?? "";
    await this.#end(text);
    this.below.replaceChildren(errorElement(error, () => this.actions.retry()));
  }

  async #end(text) {
    this.waiting = null;
    this.element.removeAttribute("aria-busy");
    if (text === "" && !this.#markdown) this.content.replaceChildren();
    else await this.#started().finish(text);
  }

  /**
   * Shows a message of the history: at once as plain text, and with everything else when `render` is called, which is
   * when it comes near the visible part.
   */
  static ofHistory(message, actions) {
    const answer = new Answer(actions);
    answer.#reply = { ...message, answer: message.content };
    answer.content.classList.add("plain");
    answer.content.textContent = message.content;
    answer.render = async () => {
      answer.render = () => {};
      await answer.#started().finish(message.content);
      answer.#showBelow(answer.#reply);
    };
    return answer;
  }

  #showBelow(reply) {
    const sources = Array.isArray(reply.sources) ? reply.sources : [];
    const open = (source, opener) => this.actions.openSource(source, sources, opener);
    if (sources.length > 0) linkCitations(this.content, sources, open);
    this.below.replaceChildren(
      ...[...notices(reply), sourceChips(sources, open), explanationOf(reply, sources), this.#toolbar(reply)].filter(
        Boolean,
      ),
    );
  }

  #toolbar(reply) {
    const again = element("button", {
      type: "button",
      class: "icon-button small",
      test: "ask-again",
      "aria-label": "Ask again",
      title: "Ask again",
      on: { click: () => this.actions.askAgain() },
    });
    setIcon(again, "again");
    const copy = reply.answer
      ? copyButton({ label: "Copy answer", test: "copy-answer", text: () => reply.answer })
      : null;
    return element("div", { class: "toolbar" }, copy, again, ...(reply.answer_id ? thumbs(reply.answer_id) : []));
  }
}

function notices({ stopped, complete, history, answer }) {
  const notice = (text, test) => element("p", { class: "notice", test, text });
  return [
    stopped
      ? notice(answer ? "You stopped this answer." : "You stopped this answer before it began.", "stopped")
      : null,
    complete === false
      ? notice("This answer is incomplete: it was stopped, or the connection ended.", "incomplete")
      : null,
    history === "unavailable"
      ? notice(
          "The conversation could not be read or kept, so this answer does not know the messages before it.",
          "history-unavailable",
        )
      : null,
    answer === "" && !stopped && complete !== false ? notice("The answer is empty.", "empty-answer") : null,
  ];
}

function dots() {
  return element("span", { class: "dots", "aria-hidden": "true" }, element("i"), element("i"), element("i"));
}

/** A question in the conversation. */
export function questionElement(text) {
  return element(
    "article",
    { class: "message user", test: "message", data: { role: "user" } },
    element("h2", { class: "visually-hidden", text: "Your question" }),
    element("div", { class: "bubble", text }),
  );
}
