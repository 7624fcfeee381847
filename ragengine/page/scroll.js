// Follows the end of a conversation until the reader scrolls up.

/** A distance from the end, in pixels, that still counts as the end. */
const NEAR_END = 48;

export class Follower {
  #following = true;
  #lastTop = 0;
  #lastHeight = 0;

  constructor(scroller, button) {
    this.scroller = scroller;
    this.button = button;
    scroller.addEventListener("scroll", () => this.#scrolled(), { passive: true });
    // A wheel or a finger that moves up is meant, even if the text grows faster.
    scroller.addEventListener("wheel", ({ deltaY }) => deltaY < 0 && this.#canScroll() && this.#follow(false), {
      passive: true,
    });
    // What the reader unfolds should not run away from under the pointer.
    scroller.addEventListener("click", ({ target }) => target.closest("summary, .more") && (this.#following = false), {
      capture: true,
    });
    this.sizes = new ResizeObserver(() => this.#grown());
    this.sizes.observe(scroller);
    button.addEventListener("click", () => {
      this.toEnd(!matchMedia("(prefers-reduced-motion: reduce)").matches);
      scroller.focus({ preventScroll: true });
    });
  }

  /** Watches the content that is shown now. */
  watch(content) {
    this.sizes.disconnect();
    this.sizes.observe(this.scroller);
    this.sizes.observe(content);
  }

  toEnd(smoothly = false) {
    this.#follow(true);
    const { scroller } = this;
    // A long way would take long: only its end is shown as movement.
    const isFar = this.#distance() > 3 * scroller.clientHeight;
    scroller.scrollTo({ top: scroller.scrollHeight, behavior: smoothly && !isFar ? "smooth" : "instant" });
    this.#lastTop = scroller.scrollTop;
  }

  toStart() {
    this.#follow(false);
    this.scroller.scrollTop = 0;
  }

  #scrolled() {
    const { scrollTop, scrollHeight } = this.scroller;
    const movedUp = scrollTop < this.#lastTop - 1;
    // Content that becomes shorter moves the reader up, too, but that is not meant.
    const shrunk = scrollHeight < this.#lastHeight;
    if (this.#distance() <= NEAR_END) this.#follow(true);
    else if (movedUp && !shrunk) this.#follow(false);
    this.#lastTop = scrollTop;
    this.#lastHeight = scrollHeight;
  }

  #grown() {
    this.#lastHeight = this.scroller.scrollHeight;
    if (this.#following) this.scroller.scrollTop = this.scroller.scrollHeight;
    else this.#follow(this.#distance() <= NEAR_END);
    this.#lastTop = this.scroller.scrollTop;
  }

  #distance() {
    const { scrollHeight, scrollTop, clientHeight } = this.scroller;
    return scrollHeight - scrollTop - clientHeight;
  }

  #canScroll() {
    return this.scroller.scrollTop > 0;
  }

  #follow(following) {
    this.#following = following;
    this.button.hidden = following || this.#distance() <= NEAR_END;
  }
}
