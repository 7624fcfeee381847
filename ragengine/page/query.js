// A question and its streamed answer.

import { send } from "./api.js";
import { RequestError } from "./errors.js";
import * as storage from "./storage.js";
import { EventParser } from "./stream.js";

const KEY = "ragengine.explainDisabled";
let explain = storage.read("sessionStorage", KEY) === null;

/**
 * Asks a question. `onText` gets each piece of the answer. Returns the whole reply. The error of a stream that breaks
 * is a `RequestError`.
 */
export async function ask({ query, sessionId, index, signal }, onText) {
  const response = await sendQuery(
    { query, session_id: sessionId, stream: true, ...(index ? { index_name: index } : {}) },
    signal,
  );
  if (!(response.headers.get("content-type") ?? "").startsWith("text/event-stream")) return response.json();
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  try {
    const reply = await replyOf(reader, onText);
    // The server ends the stream after its last event. Reading to the end keeps that from looking like a broken one.
    reader.read().catch(() => {});
    return reply;
  } catch (error) {
    reader.cancel().catch(() => {});
    throw error;
  }
}

async function replyOf(reader, onText) {
  const parser = new EventParser();
  while (true) {
    const { done, value: piece } = await nextPiece(reader);
    if (done) throw new RequestError(0, "The connection ended before the answer was complete.");
    for (const { event, data } of parser.read(piece)) {
      const value = parsed(data);
      if (event === "token") onText(String(value?.text ?? ""));
      if (event === "done") return value;
      if (event === "error") throw new RequestError(502, String(value?.detail ?? ""));
    }
  }
}

async function nextPiece(reader) {
  try {
    return await reader.read();
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new RequestError(0, "The connection broke before the answer was complete.");
  }
}

/** A server may refuse to explain. That is remembered, because it would refuse the next question, too. */
async function sendQuery(body, signal) {
  if (!explain) return send("POST", "/query", { body, signal });
  try {
    return await send("POST", "/query", { body: { ...body, explain: true }, signal });
  } catch (error) {
    if (error.status !== 400 || !error.detail.startsWith("explain is disabled on this server")) throw error;
    explain = false;
    storage.write("sessionStorage", KEY, "true");
    return send("POST", "/query", { body, signal });
  }
}

function parsed(data) {
  try {
    return JSON.parse(data);
  } catch {
    throw new RequestError(502, "The stream has an event that is not valid JSON.");
  }
}
