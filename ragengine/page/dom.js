// Small helpers for elements. Texts are set as text only, so no value is ever parsed as HTML.

/**
 * Creates an element. `class`, `text`, `test` (the hook of tests), `data` and `on` (listeners) have a meaning of their
 * own; all other options are attributes. An attribute that is `null`, `undefined` or `false` is left out.
 */
export function element(name, options = {}, ...children) {
  const created = document.createElement(name);
  const { class: classes, text, test, data, on, ...attributes } = options;
  if (classes) created.className = classes;
  if (text !== undefined) created.textContent = text;
  if (test) created.dataset.test = test;
  Object.assign(created.dataset, data);
  for (const [event, listener] of Object.entries(on ?? {})) created.addEventListener(event, listener);
  for (const [attribute, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    created.setAttribute(attribute, value === true ? "" : value);
  }
  created.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
  return created;
}

/** The element with an id. */
export function byId(id) {
  return document.getElementById(id);
}

/** Tells screen readers a text. The text is replaced in two steps, because the same text twice is not read again. */
export function announce(text) {
  const announcer = byId("announcer");
  announcer.textContent = "";
  setTimeout(() => (announcer.textContent = text), 50);
}

/** `1 document`, `2 documents`. */
export function count(number, singular, plural = `${singular}s`) {
  return `${number.toLocaleString("en")} ${number === 1 ? singular : plural}`;
}

/** The beginning of a text in one line, with `…` when it was longer. */
export function beginning(text, maxCharacters) {
  const line = text.replace(/\s+/g, " ").trim();
  const characters = Array.from(line);
  return characters.length <= maxCharacters
    ? line
    : `${characters
        .slice(0, maxCharacters - 1)
        .join("")
        .trimEnd()}…`;
}

/** A link from outside if it is safe to follow, else null. */
export function safeUrl(text) {
  if (typeof text !== "string" || !/^(https?:\/\/|mailto:)/i.test(text)) return null;
  try {
    return new URL(text).href;
  } catch {
    return null;
  }
}

/** A link to another site. It opens in a new tab, which learns nothing about this page. */
export function externalLink(url, text) {
  return element("a", { href: url, text, target: "_blank", rel: "noopener noreferrer" });
}
