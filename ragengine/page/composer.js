// The field for questions, with the buttons that send and stop.

import { byId } from "./dom.js";
import { setIcon } from "./icons.js";

const HINT = "Enter sends, Shift + Enter starts a new line.";

/** `submit(text)` sends a question and returns whether it was taken. `stop()` ends the running answer. */
export class Composer {
  #state = "ready";

  constructor({ submit, stop }) {
    this.input = byId("composer-input");
    this.send = byId("send");
    this.stop = byId("stop");
    this.hint = byId("composer-hint");
    setIcon(this.send, "arrowUp");
    setIcon(this.stop, "stop");
    const sendText = () => {
      const text = this.input.value.trim();
      if (text === "" || this.#state !== "ready" || !submit(text)) return;
      this.input.value = "";
      this.#fit();
    };
    byId("composer").addEventListener("submit", (event) => {
      event.preventDefault();
      sendText();
    });
    this.input.addEventListener("keydown", (event) => {
      // Enter may also choose a word of an input method: key code 229 marks it where `isComposing` is late (Safari).
      if (event.key !== "Enter" || event.shiftKey || event.isComposing || event.keyCode === 229) return;
      event.preventDefault();
      sendText();
    });
    this.input.addEventListener("input", () => this.#fit());
    this.stop.addEventListener("click", () => {
      stop();
      this.input.focus();
    });
    this.#fit();
  }

  /** `ready`, `answering` (here) or `elsewhere` (in another tab). */
  setState(state) {
    const hadFocus = document.activeElement === this.send || document.activeElement === this.stop;
    this.#state = state;
    this.stop.hidden = state !== "answering";
    this.send.hidden = state === "answering";
    this.hint.classList.toggle("important", state === "elsewhere");
    this.hint.textContent = state === "elsewhere" ? "Another tab is waiting for an answer in this conversation." : HINT;
    this.#fit();
    if (hadFocus) this.input.focus();
  }

  focus() {
    this.input.focus();
  }

  /** Fits the height to the text, and the button to whether there is one. */
  #fit() {
    this.send.disabled = this.input.value.trim() === "" || this.#state !== "ready";
    if (CSS.supports("field-sizing", "content")) return;
    this.input.style.height = "auto";
    this.input.style.height = `${Math.min(this.input.scrollHeight, 220)}px`;
  }
}
