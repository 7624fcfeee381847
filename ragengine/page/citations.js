// The numbers of sources in an answer, such as `[1]` or `[1, 2]`, as buttons that open the source.

import { element } from "./dom.js";

const MARKER = /\[(\d{1,3}(?:\s*,\s*\d{1,3})*)\]/g;

/** Splits a text at the markers whose numbers are all known: texts, and lists of numbers. */
export function splitAtMarkers(text, isKnown) {
  const parts = [];
  let start = 0;
  for (const found of text.matchAll(MARKER)) {
    const numbers = found[1].split(",").map((number) => Number.parseInt(number, 10));
    if (!numbers.every(isKnown)) continue;
    if (found.index > start) parts.push(text.slice(start, found.index));
    parts.push(numbers);
    start = found.index + found[0].length;
  }
  if (start < text.length) parts.push(text.slice(start));
  return parts;
}

/** Replaces the markers below an element, except in code and links. */
export function linkCitations(content, sources, open) {
  const known = new Map(sources.map((source) => [source.number, source]));
  const walker = document.createTreeWalker(content, NodeFilter.SHOW_TEXT, (node) =>
    node.data.includes("[") && !node.parentElement.closest("code, pre, a, button, summary")
      ? NodeFilter.FILTER_ACCEPT
      : NodeFilter.FILTER_SKIP,
  );
  const texts = [];
  while (walker.nextNode()) texts.push(walker.currentNode);
  for (const node of texts) {
    const parts = splitAtMarkers(node.data, (number) => known.has(number));
    if (parts.every((part) => typeof part === "string")) continue;
    node.replaceWith(...parts.flatMap((part) => (typeof part === "string" ? [part] : marks(part, known, open))));
  }
}

function marks(numbers, known, open) {
  return numbers.map((number) =>
    element("button", {
      type: "button",
      class: "citation",
      test: "citation",
      text: String(number),
      "aria-label": `Source ${number}: ${titleOf(known.get(number))}`,
      title: titleOf(known.get(number)),
      on: { click: (event) => open(known.get(number), event.currentTarget) },
    }),
  );
}

/** What a source is called: its title, else the name of its file, else its id. */
export function titleOf(source) {
  const { title, path } = source?.metadata ?? {};
  const name = [title, path, source?.doc_id].find((value) => typeof value === "string" && value.trim() !== "");
  return name ?? "Untitled document";
}
