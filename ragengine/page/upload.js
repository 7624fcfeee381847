// The dialog that adds files to an index.

import { newDialog } from "./dialogs.js";
import { announce, count, element } from "./dom.js";
import { inOneLine, RequestError } from "./errors.js";
import { documentOf } from "./files.js";
import { icon } from "./icons.js";
import { IndexChoice } from "./index-choice.js";
import { sendDocument } from "./send-document.js";
import { withToken } from "./token.js";

const MAX_RETRIES = 5;

/** Opens the dialog with files. `added(index)` is called when at least one was added. */
export function openUpload(indexes, files, added) {
  const upload = new Upload(indexes, added);
  upload.add(files);
  return upload;
}

class Upload {
  #files = [];
  #stopping = new AbortController();

  constructor(indexes, added) {
    this.added = added;
    this.list = element("ul", { class: "file-list", "aria-label": "Files" });
    this.input = element("input", {
      type: "file",
      multiple: true,
      id: "upload-files",
      test: "file-input",
      class: "visually-hidden",
    });
    this.input.addEventListener("change", () => {
      this.add([...this.input.files]);
      this.input.value = "";
    });
    this.zone = element(
      "label",
      { class: "drop-zone", test: "drop-zone", for: "upload-files" },
      icon("upload"),
      element("span", {}, element("strong", { text: "Choose files" }), " or drop them here"),
      element("span", { class: "muted", text: "Text in UTF-8: Markdown, plain text, code, CSV, JSON, HTML…" }),
      this.input,
    );
    this.choice = new IndexChoice(indexes);
    this.progress = element("div", { class: "upload-progress", test: "upload-progress", hidden: true });
    this.start = element("button", {
      type: "submit",
      class: "button primary",
      test: "upload-start",
      text: "Add",
      disabled: true,
    });
    this.cancel = element("button", { type: "button", class: "button quiet", text: "Cancel" });
    const form = element(
      "form",
      {},
      this.zone,
      this.list,
      this.choice.element,
      this.progress,
      element("div", { class: "dialog-buttons" }, this.cancel, this.start),
    );
    this.dialog = newDialog({ title: "Add documents", test: "upload-dialog", wide: true }, form);
    this.cancel.addEventListener("click", () => this.dialog.close());
    this.dialog.addEventListener("close", () => this.#stopping.abort());
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      if (this.choice.check()) this.#run();
    });
    this.dialog.showModal();
  }

  /** Adds files to the list. A file with a name that is there already replaces it. */
  add(files) {
    if (this.isRunning) return;
    for (const file of files) {
      this.#files = this.#files.filter((other) => other.file.name !== file.name);
      this.#files.push({ file, state: element("span", { class: "file-state muted", text: sizeOf(file.size) }) });
    }
    this.list.replaceChildren(
      ...this.#files.map(({ file, state }) =>
        element("li", {}, icon("file"), element("span", { class: "file-name", text: file.name }), state),
      ),
    );
    this.start.disabled = this.#files.length === 0;
    this.start.textContent = this.#files.length === 0 ? "Add" : `Add ${count(this.#files.length, "file")}`;
  }

  async #run() {
    this.isRunning = true;
    const index = this.choice.name;
    this.start.disabled = true;
    this.choice.element.hidden = true;
    this.zone.hidden = true;
    this.progress.hidden = false;
    const bar = element("progress", { max: this.#files.length, value: 0, "aria-label": "Progress" });
    const text = element("span", { role: "status" });
    this.progress.replaceChildren(bar, text);
    let done = 0;
    let failed = 0;
    for (const item of this.#files) {
      if (this.#stopping.signal.aborted) break;
      text.textContent = `${done + 1} of ${count(this.#files.length, "file")}`;
      const isAdded = await this.#send(index, item, (part) => (bar.value = done + part * 0.5));
      if (!isAdded) failed++;
      done++;
      bar.value = done;
    }
    this.isRunning = false;
    const result = `${count(done - failed, "file")} added to ${index}${failed > 0 ? `, ${failed} not added` : ""}.`;
    text.textContent = result;
    announce(result);
    this.cancel.textContent = "Close";
    this.cancel.focus();
    this.start.hidden = true;
    if (done > failed) this.added(index);
  }

  async #send(index, { file, state }, onProgress) {
    const show = (text, kind) => {
      state.textContent = text;
      state.className = `file-state ${kind}`;
    };
    try {
      show("Reading…", "muted");
      const document = await documentOf(file);
      show("Sending…", "muted");
      const progress = (part) => {
        onProgress(part);
        show(part < 1 ? `Sending… ${Math.round(part * 100)} %` : "Indexing…", "muted");
      };
      await withPatience(
        () => withToken(() => sendDocument(index, document, progress, this.#stopping.signal)),
        this.#stopping.signal,
      );
      show("Added", "good");
      return true;
    } catch (error) {
      show(error instanceof RequestError ? inOneLine(error) : error.message, "bad");
      return false;
    }
  }
}

/** A busy server (429) is asked again after the time that it names. */
async function withPatience(send, signal) {
  for (let tried = 0; ; tried++) {
    try {
      return await send();
    } catch (error) {
      if (error.status !== 429 || tried === MAX_RETRIES || signal.aborted) throw error;
      await new Promise((resolve) => setTimeout(resolve, Math.min(error.retryAfter ?? 1, 30) * 1000));
    }
  }
}

function sizeOf(bytes) {
  if (bytes < 1024) return `${bytes} B`;
  return bytes < 1024 * 1024 ? `${Math.round(bytes / 1024)} KiB` : `${(bytes / 1024 / 1024).toFixed(1)} MiB`;
}
