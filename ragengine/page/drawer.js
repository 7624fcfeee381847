// The list of conversations on narrow screens: a drawer over the conversation.

import { byId } from "./dom.js";
import { setIcon } from "./icons.js";

export class Drawer {
  #narrow = matchMedia("(max-width: 767px)");

  constructor() {
    this.sidebar = byId("sidebar");
    this.menu = byId("menu");
    setIcon(this.menu, "menu");
    setIcon(byId("drawer-close"), "close");
    this.menu.addEventListener("click", () => this.#set(true));
    byId("drawer-close").addEventListener("click", () => this.close());
    // The rest of the page is inert while the drawer is open, so a press on it reaches the layout.
    byId("layout").addEventListener("click", (event) => {
      if (this.isOpen && !this.sidebar.contains(event.target) && !this.menu.contains(event.target)) this.close();
    });
    addEventListener("keydown", (event) => {
      if (event.key === "Escape" && this.isOpen && !document.querySelector("dialog:modal")) this.close();
    });
    this.#narrow.addEventListener("change", () => this.#set(false));
  }

  get isOpen() {
    return document.body.classList.contains("drawer-open");
  }

  close() {
    if (!this.isOpen) return;
    this.#set(false);
    this.menu.focus();
  }

  #set(open) {
    document.body.classList.toggle("drawer-open", open);
    // All but the title is out of reach. The title stays, because a page without one is hard to understand.
    for (const part of document.querySelectorAll("#chat > :not(header), #chat > header > :not(h1)")) part.inert = open;
    this.menu.setAttribute("aria-expanded", String(open));
    if (open) byId("drawer-close").focus();
  }
}
