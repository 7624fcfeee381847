// One conversation on the page: its messages, and the answer that is running.

import { readHistory } from "./api.js";
import { element } from "./dom.js";
import { errorElement } from "./error-view.js";
import { RequestError } from "./errors.js";
import { ask } from "./query.js";
import { renderSoon } from "./render-queue.js";
import { withToken } from "./token.js";

/** How far from the visible part messages of the history get their Markdown. */
const RENDER_MARGIN = "1500px";

/** Loads what shows messages. The first paint does not need it. */
export async function loadAnswers() {
  try {
    return await import("./answer.js");
  } catch {
    throw new RequestError(0, "A part of this page could not be loaded.");
  }
}

/** Events: `busy` when an answer begins or ends, `asked` with a question that is sent, `messages` when there are new ones. */
export class ConversationView extends EventTarget {
  #loading = null;
  #running = null;
  #unrendered = new Map();

  /** `openSource(source, sources, index, opener)` shows a source. `indexOf()` is the index to answer from. */
  constructor(id, scroller, { openSource, indexOf }) {
    super();
    this.id = id;
    this.openSource = openSource;
    this.indexOf = indexOf;
    this.element = element("div", { class: "messages" });
    this.observer = new IntersectionObserver((entries) => this.#renderNear(entries), {
      root: scroller,
      rootMargin: RENDER_MARGIN,
    });
  }

  get isBusy() {
    return this.#running !== null;
  }

  get isEmpty() {
    return !this.isBusy && this.element.querySelector(".message, .error, .loading") === null;
  }

  /** Shows the messages that the server has. `index` is the one that they were answered from. */
  load(index) {
    this.#loading = this.#load(index);
    return this.#loading;
  }

  async #load(index) {
    this.element.replaceChildren(element("p", { class: "loading muted", text: "Loading the conversation…" }));
    try {
      const [answers, { messages }] = await Promise.all([loadAnswers(), withToken(() => readHistory(this.id))]);
      this.#showHistory(answers, messages ?? [], index);
    } catch (error) {
      this.element.replaceChildren(errorElement(error, () => this.load(index)));
    }
    this.#changed("messages");
  }

  #showHistory({ Answer, questionElement }, messages, index) {
    this.observer.disconnect();
    this.#unrendered.clear();
    let question = "";
    const elements = messages.map((message) => {
      const content = String(message.content ?? "");
      if (message.role === "user") {
        question = content;
        return questionElement(question);
      }
      const actions = this.#actions(question, () => message.sources?.[0]?.index_name ?? index ?? this.indexOf());
      const answer = Answer.ofHistory({ ...message, content }, actions);
      this.#unrendered.set(answer.element, answer);
      return answer.element;
    });
    this.element.replaceChildren(...elements);
    for (const unrendered of this.#unrendered.keys()) this.observer.observe(unrendered);
  }

  #renderNear(entries) {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue;
      this.observer.unobserve(target);
      const answer = this.#unrendered.get(target);
      this.#unrendered.delete(target);
      if (answer) renderSoon(() => answer.render());
    }
  }

  /** Asks a question, unless an answer is running. */
  ask(question) {
    return this.#run(question, ({ questionElement }) => {
      if (this.element.querySelector(".message") === null) this.element.replaceChildren();
      this.element.append(questionElement(question));
    });
  }

  stop() {
    this.#running?.abort();
  }

  /** Shows the answer to a question. `prepare` makes room for it. */
  async #run(question, prepare) {
    if (this.isBusy) return;
    // Taken before anything is waited for, so that no second question comes in between.
    const running = new AbortController();
    this.#running = running;
    this.#changed("busy");
    try {
      const [answers] = await Promise.all([loadAnswers(), this.#loading]);
      prepare(answers);
      await this.#answer(question, running.signal, answers);
    } catch (error) {
      this.element.append(errorElement(error, () => location.reload()));
    } finally {
      this.#running = null;
      this.#changed("busy");
    }
  }

  async #answer(question, signal, { Answer }) {
    const index = this.indexOf();
    const actions = this.#actions(question, () => index);
    // The question is there already: only its answer is made again.
    const retry = () => this.#run(question, () => answer.element.remove());
    const answer = new Answer({ ...actions, retry });
    answer.wait();
    this.element.append(answer.element);
    this.#changed("asked", { question, index });
    try {
      const request = { query: question, sessionId: this.id, index, signal };
      const reply = await withToken(() => ask(request, (text) => answer.append(text)));
      await answer.finish(reply);
    } catch (error) {
      if (signal.aborted) await answer.stop();
      else await answer.fail(error);
    }
  }

  #actions(question, indexOf) {
    return {
      openSource: (source, sources, opener) => this.openSource(source, sources, indexOf(), opener),
      askAgain: () => this.ask(question),
    };
  }

  #changed(type, detail) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }
}
