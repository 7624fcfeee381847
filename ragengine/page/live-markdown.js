// Markdown that grows. Blocks that cannot change any more are rendered once, so that a long answer costs little.

import { finishCode } from "./code-blocks.js";
import { blocksOf, loadMarkdown, renderBlocks } from "./markdown.js";

const MIN_INTERVAL_MS = 80;
/** The share of the time that rendering may take: a block that grows long is rendered less often. */
const MAX_SHARE = 0.25;

export class LiveMarkdown {
  #text = "";
  #settledLength = 0;
  #settledNodes = 0;
  #settledAbove = [];
  #libraries = null;
  #nextRender = 0;
  #waiting = false;
  #finished = false;

  constructor(content) {
    this.content = content;
    loadMarkdown().then(
      (libraries) => {
        this.#libraries = libraries;
        if (!this.#finished) this.#renderSoon();
      },
      () => {}, // The text stays as it was written.
    );
  }

  get text() {
    return this.#text;
  }

  append(text) {
    this.#text += text;
    this.#renderSoon();
  }

  /** Shows the final text. What is shown already stays, so that a selection in it survives. */
  async finish(text = this.#text) {
    this.#finished = true;
    this.#libraries ??= await loadMarkdown().catch(() => null);
    // A definition of a link changes blocks before it.
    const isNew = text !== this.#text || /^ {0,3}\[[^\]]+\]:/m.test(text);
    this.#text = text;
    if (isNew) this.#forget();
    this.#render(true);
  }

  #forget() {
    this.#settledLength = 0;
    this.#settledNodes = 0;
    this.#settledAbove = [];
  }

  #renderSoon() {
    if (this.#waiting || this.#finished) return;
    this.#waiting = true;
    const wait = Math.max(0, this.#nextRender - performance.now());
    setTimeout(() => {
      requestAnimationFrame(() => {
        this.#waiting = false;
        if (this.#finished) return;
        const start = performance.now();
        this.#render(false);
        this.#nextRender = start + Math.max(MIN_INTERVAL_MS, (performance.now() - start) / MAX_SHARE);
      });
    }, wait);
  }

  #render(isLast) {
    this.content.classList.toggle("plain", !this.#libraries);
    if (!this.#libraries) {
      this.content.textContent = this.#text;
      return;
    }
    while (this.content.childNodes.length > this.#settledNodes) this.content.lastChild.remove();
    const blocks = blocksOf(this.#libraries.marked, this.#text.slice(this.#settledLength));
    const settled = isLast ? blocks.length : settledBlocks(blocks);
    this.#settle(blocks, settled);
    if (settled < blocks.length) this.content.append(this.#fragment(blocks, settled, blocks.length).fragment);
  }

  #settle(blocks, end) {
    if (end === 0) return;
    const { fragment, above } = this.#fragment(blocks, 0, end);
    finishCode(fragment);
    this.content.append(fragment);
    this.#settledNodes = this.content.childNodes.length;
    this.#settledAbove = above;
    for (const { raw } of blocks.slice(0, end)) this.#settledLength += raw.length;
  }

  #fragment(blocks, start, end) {
    // The links of a list are those of the whole text: they are lost by `slice`.
    const part = Object.assign(blocks.slice(start, end), { links: blocks.links });
    return renderBlocks(this.#libraries, part, this.#settledAbove);
  }
}

/** How many blocks cannot change when text is added: all before the last that has a text. */
function settledBlocks(blocks) {
  const last = blocks.findLastIndex((block) => block.type !== "space");
  return Math.max(0, last);
}
