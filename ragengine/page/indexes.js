// The index that questions are answered from.

import { listIndexes } from "./api.js";
import { byId, element } from "./dom.js";
import * as storage from "./storage.js";
import { withToken } from "./token.js";

const KEY = "ragengine.index";

/** Events: `change` when another index is chosen or the list has changed. */
export class Indexes extends EventTarget {
  #names = [];
  #current = null;
  #wanted = null;

  /** Whether the server has said which indexes there are. */
  isLoaded = false;

  constructor() {
    super();
    this.picker = byId("index-picker");
    this.label = byId("only-index");
    this.picker.addEventListener("change", () => this.choose(this.picker.value));
  }

  get names() {
    return this.#names;
  }

  /** The name of the chosen index, or null if there is none. */
  get current() {
    return this.#current;
  }

  /** Asks the server for the indexes. */
  async load() {
    const names = await withToken(listIndexes);
    this.#names = Array.isArray(names) ? names.map(String) : [];
    this.isLoaded = true;
    const remembered = this.#wanted ?? this.#current ?? storage.read("localStorage", KEY);
    this.#current = this.#names.includes(remembered) ? remembered : (this.#names[0] ?? null);
    this.#show();
  }

  /** Chooses an index, if it exists. Before the indexes are known, the choice waits for them. */
  choose(name) {
    this.#wanted = this.isLoaded ? null : name;
    if (!this.#names.includes(name) || name === this.#current) return;
    this.#current = name;
    storage.write("localStorage", KEY, name);
    this.#show();
  }

  #show() {
    this.picker.replaceChildren(...this.#names.map((name) => element("option", { value: name, text: name })));
    if (this.#current) this.picker.value = this.#current;
    this.picker.hidden = this.#names.length < 2;
    // One index needs no choice, but its name is good to know.
    this.label.hidden = this.#names.length !== 1;
    this.label.textContent = this.#current ?? "";
    this.dispatchEvent(new Event("change"));
  }
}
