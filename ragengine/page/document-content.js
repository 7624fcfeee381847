// What the document panel shows of a document: its metadata, and its text with the passage marked.

import { element, externalLink, safeUrl } from "./dom.js";
import { locate } from "./passage.js";

/** Characters shown on both sides of a passage until the reader asks for the whole document. */
const AROUND = 20_000;
/** Metadata that is shown elsewhere, or says nothing to a reader. */
const HIDDEN = new Set(["title", "split_type"]);
/** The id and the metadata of a document. Addresses are links where they are safe. */
export function facts(source) {
  const metadata = Object.entries(source.metadata ?? {}).filter(
    ([name, value]) => !HIDDEN.has(name) && value !== null && value !== "",
  );
  const rows = [["Document", source.doc_id], ...metadata];
  return element(
    "dl",
    { class: "facts" },
    ...rows.map(([name, value]) =>
      element("div", {}, element("dt", { text: labelOf(name) }), element("dd", {}, valueOf(value))),
    ),
  );
}

function labelOf(name) {
  return name.charAt(0).toUpperCase() + name.slice(1).replaceAll("_", " ");
}

function valueOf(value) {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  const url = safeUrl(text);
  return url ? externalLink(url, text) : text;
}

/** The text of a document with its passage marked. */
export function textOf(document, source) {
  const text = String(document.text ?? "");
  const chunk = (document.chunks ?? []).find(({ node_id: id }) => id === source.node_id);
  const place = locate(text, String(source.text ?? ""), chunk);
  if (!place) {
    return [
      element("p", {
        class: "notice",
        text: "The document has changed since: the passage is not in it any more. This is the passage that was used:",
      }),
      passageAlone(source),
      element("h3", { text: "The document now" }),
      element("div", { class: "document-text", text: text.slice(0, 2 * AROUND) }),
    ];
  }
  const shown = element("div", { class: "document-text" });
  const show = (from, to) => {
    shown.replaceChildren(
      text.slice(from, place.start),
      element("mark", { test: "passage", text: text.slice(place.start, place.end) }),
      text.slice(place.end, to),
    );
  };
  const from = Math.max(0, place.start - AROUND);
  const to = Math.min(text.length, place.end + AROUND);
  show(from, to);
  if (from === 0 && to === text.length) return [shown];
  const all = element("button", { type: "button", class: "button quiet", text: "Show the whole document" });
  all.addEventListener("click", () => {
    show(0, text.length);
    all.remove();
    shown.querySelector("mark").scrollIntoView({ block: "center" });
  });
  return [element("p", { class: "muted", text: "A part of the document around the passage is shown. " }, all), shown];
}

/** A passage whose document cannot be shown. */
export function passageAlone(source) {
  return element(
    "div",
    { class: "document-text" },
    element("mark", { test: "passage", text: String(source.text ?? "") }),
  );
}
