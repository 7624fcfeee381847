// Tells the other tabs of this browser which conversations wait for an answer.

export class RunningElsewhere extends EventTarget {
  #elsewhere = new Set();
  #here = new Set();
  #channel = typeof BroadcastChannel === "undefined" ? null : new BroadcastChannel("ragengine.running");

  constructor() {
    super();
    this.#channel?.addEventListener("message", ({ data }) => this.#heard(data));
    this.#channel?.postMessage({ question: true });
    // A tab that closes ends its answers.
    addEventListener("pagehide", () => {
      for (const id of this.#here) this.#channel?.postMessage({ id, running: false });
    });
  }

  has(id) {
    return this.#elsewhere.has(id);
  }

  set(id, running) {
    if (running) this.#here.add(id);
    else this.#here.delete(id);
    this.#channel?.postMessage({ id, running });
  }

  #heard({ question, id, running }) {
    if (question) {
      for (const here of this.#here) this.#channel.postMessage({ id: here, running: true });
      return;
    }
    if (running) this.#elsewhere.add(id);
    else this.#elsewhere.delete(id);
    this.dispatchEvent(new CustomEvent("change", { detail: { id, running } }));
  }
}
