// Where a passage is in its document.

/**
 * The position of a passage, `{ start, end }`, or null. `chunk` is its chunk where the server told it; its offsets count
 * characters (Unicode scalar values). They choose between equal passages, and help when the text is not found.
 */
export function locate(document, passage, chunk) {
  const wanted = passage.trim();
  if (wanted === "") return null;
  const expected = chunk ? unitsBefore(document, chunk.start) : null;
  return findExactly(document, wanted, expected) ?? findWithoutSpaces(document, wanted) ?? ofChunk(document, chunk);
}

function findExactly(document, wanted, expected) {
  let best = null;
  let from = 0;
  while (true) {
    const start = document.indexOf(wanted, from);
    if (start === -1) return best;
    const found = { start, end: start + wanted.length };
    if (expected === null) return found;
    if (best === null || Math.abs(start - expected) < Math.abs(best.start - expected)) best = found;
    if (start > expected) return best;
    from = start + 1;
  }
}

/** Compares all characters but spaces, because cutting a text may change the spaces in it. */
function findWithoutSpaces(document, wanted) {
  const dense = wanted.replace(/\s+/g, "");
  if (dense.length < 8) return null;
  const start = document.replace(/\s+/g, "").indexOf(dense);
  if (start === -1) return null;
  let seen = 0;
  let first = 0;
  for (let position = 0; position < document.length; position++) {
    if (/\s/.test(document[position])) continue;
    if (seen === start) first = position;
    seen++;
    if (seen === start + dense.length) return { start: first, end: position + 1 };
  }
  return null;
}

function ofChunk(document, chunk) {
  if (!chunk) return null;
  const start = unitsBefore(document, chunk.start);
  const end = unitsBefore(document, chunk.end);
  return start !== null && end !== null && start < end ? { start, end } : null;
}

/** The position in UTF-16 code units, which JavaScript counts, of a position in characters. */
export function unitsBefore(text, characters) {
  if (!Number.isInteger(characters) || characters < 0) return null;
  let position = 0;
  for (let passed = 0; passed < characters; passed++) {
    if (position >= text.length) return null;
    position += text.codePointAt(position) > 0xffff ? 2 : 1;
  }
  return position;
}
