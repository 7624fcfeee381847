// Markdown of an answer as elements that are safe to show. The libraries are loaded after the first paint.

let libraries = null;

/** Loads the libraries once. A failure is tried again by the next call. */
export function loadMarkdown() {
  libraries ??= load().catch((error) => {
    libraries = null;
    throw error;
  });
  return libraries;
}

async function load() {
  const [{ Marked }] = await Promise.all([import("./vendor/marked.esm.js"), import("./vendor/purify.min.js")]);
  return { marked: newMarked(Marked), purify: newPurify(globalThis.DOMPurify) };
}

const ALLOWED_TAGS = [
  ...[
    "a",
    "abbr",
    "b",
    "blockquote",
    "br",
    "code",
    "dd",
    "del",
    "details",
    "div",
    "dl",
    "dt",
    "em",
    "h3",
    "h4",
    "h5",
    "h6",
  ],
  ...[
    "hr",
    "i",
    "input",
    "ins",
    "kbd",
    "li",
    "mark",
    "ol",
    "p",
    "pre",
    "q",
    "s",
    "samp",
    "small",
    "span",
    "strong",
    "sub",
  ],
  ...["summary", "sup", "table", "tbody", "td", "tfoot", "th", "thead", "tr", "u", "ul", "var"],
];
const ALLOWED_ATTR = ["align", "checked", "class", "disabled", "href", "start", "title", "type"];
/** Elements that an answer may write as HTML. Their attributes are dropped, and all other HTML is shown as text. */
const WRITABLE_TAGS = new Set(
  ALLOWED_TAGS.filter((tag) => !["a", "div", "input", "span"].includes(tag) && !/^h\d/.test(tag)),
);

function newPurify(purify) {
  purify.addHook("afterSanitizeAttributes", (node) => {
    if (node.nodeName === "A" && node.hasAttribute("href")) {
      node.setAttribute("target", "_blank");
      node.setAttribute("rel", "noopener noreferrer");
    }
    // The only field that Markdown has is the box of a task list.
    if (node.nodeName === "INPUT") {
      if (node.getAttribute("type") !== "checkbox") node.remove();
      else {
        node.setAttribute("disabled", "");
        node.setAttribute("aria-label", node.hasAttribute("checked") ? "Done" : "Not done");
      }
    }
    // A class could make text look like a part of the page: only those stay that tell the language of code.
    const classes = (node.getAttribute?.("class") ?? "").split(/\s+/).filter((name) => /^(language-|hljs)/.test(name));
    if (classes.length > 0) node.setAttribute("class", classes.join(" "));
    else node.removeAttribute?.("class");
  });
  return purify;
}

/** Parses HTML into a fragment that has allowed elements only. No link leads anywhere but to the web or to mail. */
export function sanitized(purify, html) {
  return purify.sanitize(html, {
    ALLOWED_TAGS,
    ALLOWED_ATTR,
    ALLOWED_URI_REGEXP: /^(?:https?:\/\/|mailto:)/i,
    // The pattern above is for addresses only.
    ADD_URI_SAFE_ATTR: ALLOWED_ATTR.filter((name) => name !== "href"),
    ALLOW_ARIA_ATTR: false,
    ALLOW_DATA_ATTR: false,
    RETURN_DOM_FRAGMENT: true,
  });
}

function newMarked(Marked) {
  return new Marked({
    gfm: true,
    renderer: {
      html({ text }) {
        return withPlainTags(text);
      },
      // Pictures would be loaded from anywhere: they become links.
      image({ href, text }) {
        return `<a href="${escaped(href)}">${escaped(text || "Image")}</a>`;
      },
      // The page has the levels 1 and 2. No level is left out below them, as readers with a screen reader expect: a
      // heading is one level below the last that is above it.
      heading({ tokens, depth }) {
        const { above } = this.parser;
        while (above.at(-1) >= depth) above.pop();
        above.push(depth);
        const level = Math.min(2 + above.length, 6);
        return `<h${level}>${this.parser.parseInline(tokens)}</h${level}>\n`;
      },
      // A `[` with a backslash does not begin the number of a source. A separate element keeps it from becoming one.
      text(token) {
        if (token.type === "escape" && token.raw === "\\[") return "<span>[</span>";
        return false;
      },
    },
  });
}

/**
 * Leaves only simple elements of written HTML. The rest would be removed later anyway, but as text it can be read, and
 * it never reaches a parser, so that the browser has no script and no style to refuse.
 */
function withPlainTags(html) {
  return html.replace(/<!--[^]*?-->|<(\/?)([a-z][a-z0-9]*)(?:\s[^>]*|\/)?>|[&<>]/gi, (found, slash, name) => {
    if (name && WRITABLE_TAGS.has(name.toLowerCase())) return `<${slash}${name}>`;
    if (found.startsWith("<!--")) return "";
    return found === "&" ? found : escaped(found);
  });
}

function escaped(text) {
  return String(text ?? "").replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** The top-level blocks of a Markdown text. */
export function blocksOf(marked, text) {
  return marked.lexer(text);
}

/** Renders blocks. `above` are the depths of the headings that they stand below. */
export function renderBlocks({ marked, purify }, blocks, above = []) {
  const parser = new marked.Parser({ ...marked.defaults });
  parser.above = [...above];
  const fragment = sanitized(purify, parser.parse(blocks));
  return { fragment, above: parser.above };
}
