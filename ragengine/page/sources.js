// The sources of an answer as numbered chips.

import { element } from "./dom.js";
import { titleOf } from "./citations.js";

/** More sources than this are behind a button. */
const MAX_SHOWN = 6;

export function sourceChips(sources, open) {
  if (sources.length === 0) return null;
  const items = sources.map((source, position) => element("li", { hidden: position >= MAX_SHOWN }, chip(source, open)));
  const list = element("ul", { class: "source-list", "aria-label": "Sources" }, ...items);
  const hidden = items.slice(MAX_SHOWN);
  if (hidden.length > 0) {
    const more = element("button", { type: "button", class: "chip more", text: `${hidden.length} more` });
    more.addEventListener("click", () => {
      more.closest("li").remove();
      for (const item of hidden) item.hidden = false;
      hidden[0].querySelector("button").focus();
    });
    list.append(element("li", {}, more));
  }
  return list;
}

function chip(source, open) {
  const title = titleOf(source);
  return element(
    "button",
    {
      type: "button",
      class: "chip",
      test: "source-chip",
      title: placeOf(source),
      on: { click: (event) => open(source, event.currentTarget) },
    },
    element("span", { class: "chip-number", text: String(source.number) }),
    element("span", { class: "chip-title", text: title }),
    source.metadata?.page === undefined
      ? null
      : element("span", { class: "chip-page", text: `page ${source.metadata.page}` }),
  );
}

function placeOf(source) {
  const { page, heading } = source.metadata ?? {};
  return [titleOf(source), heading, page === undefined ? null : `page ${page}`].filter(Boolean).join(" · ");
}
