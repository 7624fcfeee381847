// Blocks of code: their language, a button that copies, and colours. The colours are loaded with the first block.

import { element } from "./dom.js";
import { copyButton } from "./copy.js";
import { loadMarkdown, sanitized } from "./markdown.js";

/** Code beyond this stays without colours, because colouring would hold the page up. */
const MAX_HIGHLIGHTED = 50_000;

/** The file of each language, by the names that answers use. */
const LANGUAGES = Object.fromEntries(
  [
    "bash sh zsh",
    "c h",
    "cpp c++ cc hpp cxx",
    "csharp cs c#",
    "css",
    "diff patch",
    "dockerfile docker",
    "go golang",
    "graphql gql",
    "ini toml conf",
    "java",
    "javascript js jsx mjs",
    "json jsonc",
    "kotlin kt",
    "makefile make",
    "markdown md",
    "php",
    "powershell ps1",
    "protobuf proto",
    "python py",
    "ruby rb",
    "rust rs",
    "shell console",
    "sql",
    "swift",
    "typescript ts tsx",
    "xml html svg vue",
    "yaml yml",
  ].flatMap((line) => {
    const names = line.split(" ");
    return names.map((name) => [name, names[0]]);
  }),
);

/** Adds the head to each block of code in rendered Markdown, makes tables scroll, and colours the code. */
export function finishCode(fragment) {
  for (const table of fragment.querySelectorAll("table")) {
    const frame = element("div", { class: "table-frame", tabindex: "0", role: "group", "aria-label": "Table" });
    table.replaceWith(frame);
    frame.append(table);
  }
  for (const pre of fragment.querySelectorAll("pre")) {
    const code = pre.querySelector("code") ?? pre;
    const written = /language-(\S+)/.exec(code.className)?.[1]?.toLowerCase() ?? "";
    const head = element(
      "div",
      { class: "code-head" },
      element("span", { class: "code-language", text: written || "text" }),
      copyButton({ label: "Copy code", test: "copy-code", text: () => code.textContent.replace(/\n$/, "") }),
    );
    const frame = element("div", { class: "code-block" }, head);
    pre.replaceWith(frame);
    Object.assign(pre, { tabIndex: 0 });
    pre.setAttribute("role", "group");
    pre.setAttribute("aria-label", written ? `Code: ${written}` : "Code");
    frame.append(pre);
    if (Object.hasOwn(LANGUAGES, written)) highlight(code, LANGUAGES[written]);
  }
}

let core = null;
const registered = new Map();

async function highlight(code, language) {
  const text = code.textContent;
  if (text.length > MAX_HIGHLIGHTED) return;
  try {
    const [{ purify }, highlighter] = await Promise.all([loadMarkdown(), load(language)]);
    const { value } = highlighter.highlight(text, { language, ignoreIllegals: true });
    const coloured = sanitized(purify, value);
    // The colours must not change the text.
    if (coloured.textContent === text) code.replaceChildren(coloured);
  } catch {
    // Code without colours can be read, too.
  }
}

async function load(language) {
  core ??= import("./vendor/highlight/core.min.js").then((module) => module.default);
  const highlighter = await core;
  if (!registered.has(language)) {
    registered.set(
      language,
      import(`./vendor/highlight/languages/${language}.min.js`).then((module) =>
        highlighter.registerLanguage(language, module.default),
      ),
    );
  }
  await registered.get(language);
  return highlighter;
}
