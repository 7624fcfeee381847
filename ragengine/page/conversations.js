// The list of conversations in this browser. The messages are on the server.

import { beginning } from "./dom.js";
import { isSessionId } from "./session-id.js";
import * as storage from "./storage.js";

const KEY = "ragengine.conversations";
const MAX_CONVERSATIONS = 200;
const MAX_TITLE = 60;

export class Conversations extends EventTarget {
  #list = load();

  constructor() {
    super();
    // Another tab has changed the list.
    addEventListener("storage", (event) => {
      if (event.key !== KEY && event.key !== null) return;
      const before = this.#list;
      this.#list = load();
      this.dispatchEvent(new CustomEvent("change", { detail: { before, elsewhere: true } }));
    });
  }

  /** All conversations, the newest first. */
  all() {
    return this.#list;
  }

  find(id) {
    return this.#list.find((conversation) => conversation.id === id);
  }

  /** Notes that a question was asked. The first question gives the conversation its title. */
  touch(id, question, index) {
    const known = this.find(id);
    const title = known?.title || beginning(question, MAX_TITLE) || "Untitled";
    this.#change((list) => [
      { id, title, index: index ?? null, updated: Date.now() },
      ...list.filter((other) => other.id !== id),
    ]);
  }

  rename(id, title) {
    const shortened = beginning(title, MAX_TITLE);
    if (!shortened) return;
    this.#change((list) => list.map((one) => (one.id === id ? { ...one, title: shortened } : one)));
  }

  remove(id) {
    this.#change((list) => list.filter((conversation) => conversation.id !== id));
  }

  /** Starts from what is stored, because another tab may have written a moment ago. */
  #change(changed) {
    const before = this.#list;
    const stored = storage.read("localStorage", KEY) === null ? this.#list : load();
    this.#list = sorted(changed(stored));
    storage.write("localStorage", KEY, JSON.stringify(this.#list));
    this.dispatchEvent(new CustomEvent("change", { detail: { before, elsewhere: false } }));
  }
}

function load() {
  const stored = storage.readJson("localStorage", KEY, []);
  return sorted(Array.isArray(stored) ? stored.filter(isConversation) : []);
}

function isConversation(value) {
  return isSessionId(value?.id) && typeof value.title === "string" && Number.isFinite(value.updated);
}

function sorted(list) {
  return list.sort((a, b) => b.updated - a.updated).slice(0, MAX_CONVERSATIONS);
}
