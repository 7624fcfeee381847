// Files as documents: how they are read, and what the server should know about them.

/** Larger files are not read at all: no server takes them in its default settings. */
export const MAX_FILE_BYTES = 32 * 1024 * 1024;
const MAX_ID_BYTES = 512;

const CODE = new Map(
  Object.entries({
    c: "c h",
    cpp: "cc cpp cxx hh hpp hxx",
    go: "go",
    java: "java",
    javascript: "js mjs cjs jsx",
    python: "py pyi",
    rust: "rs",
    typescript: "ts mts cts",
  }).flatMap(([language, extensions]) => extensions.split(" ").map((extension) => [extension, language])),
);

/** Reads a file as a document. Throws an error in plain words if the file is not text. */
export async function documentOf(file) {
  if (file.size > MAX_FILE_BYTES) throw new Error("The file is larger than 32 MiB.");
  const text = decoded(await bytesOf(file));
  if (text.trim() === "") throw new Error("The file is empty.");
  const documentId = `uploads/${file.name}`;
  if (new TextEncoder().encode(documentId).length > MAX_ID_BYTES) throw new Error("The name of the file is too long.");
  return { doc_id: documentId, text, metadata: metadataOf(file.name) };
}

async function bytesOf(file) {
  try {
    return await file.arrayBuffer();
  } catch {
    throw new Error("The file cannot be read. A folder must be opened, and its files chosen.");
  }
}

function decoded(bytes) {
  let text;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new Error("The file is not UTF-8 text.");
  }
  if (text.includes("\0")) throw new Error("The file is not text.");
  return text;
}

/** The metadata of a file by its name, as `ragengine ingest` makes it. */
export function metadataOf(name) {
  const extension = /\.([^.]+)$/.exec(name)?.[1].toLowerCase() ?? "";
  const metadata = { path: name, title: name };
  if (["md", "markdown", "mdx"].includes(extension)) return { ...metadata, split_type: "markdown" };
  if (CODE.has(extension)) return { ...metadata, split_type: "code", language: CODE.get(extension) };
  return metadata;
}

/** Whether a text can be the name of an index. */
export function isIndexName(text) {
  return /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/.test(text);
}
