// Server-sent events from pieces of text. Pieces may end anywhere, even between the two characters of a line end.

export class EventParser {
  #rest = "";
  #event = "";
  #data = [];

  /** Takes the next piece and returns the events that it completes, each with `event` and `data`. */
  read(piece) {
    const events = [];
    const text = this.#rest + piece;
    let start = 0;
    while (true) {
      const end = lineEnd(text, start);
      // A `\r` at the end of a piece may be the first half of `\r\n`: it waits for the next piece.
      if (end === -1 || (text[end] === "\r" && end + 1 === text.length)) break;
      this.#line(text.slice(start, end), events);
      start = end + (text[end] === "\r" && text[end + 1] === "\n" ? 2 : 1);
    }
    this.#rest = text.slice(start);
    return events;
  }

  #line(line, events) {
    if (line === "") {
      if (this.#data.length > 0) events.push({ event: this.#event || "message", data: this.#data.join("\n") });
      this.#event = "";
      this.#data = [];
      return;
    }
    const colon = line.indexOf(":");
    // A line that begins with a colon is a comment, such as `: keep-alive`.
    if (colon === 0) return;
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "event") this.#event = value;
    if (field === "data") this.#data.push(value);
  }
}

function lineEnd(text, start) {
  const feed = text.indexOf("\n", start);
  const carriage = text.indexOf("\r", start);
  if (feed === -1 || carriage === -1) return Math.max(feed, carriage);
  return Math.min(feed, carriage);
}
