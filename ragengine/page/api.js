// The calls of the server. Each returns the JSON of the reply or throws a `RequestError`.

import { errorOf, RequestError } from "./errors.js";
import { authorization } from "./token-store.js";

/** Sends a request and returns the response if it is OK. */
export async function send(method, path, { body, signal } = {}) {
  const headers = { accept: "application/json", ...authorization() };
  if (body !== undefined) headers["content-type"] = "application/json";
  let response;
  try {
    response = await fetch(path, {
      method,
      headers,
      signal,
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new RequestError(0, "");
  }
  if (!response.ok) throw await errorOf(response);
  return response;
}

async function call(method, path, options) {
  const response = await send(method, path, options);
  const text = await response.text();
  try {
    return text === "" ? null : JSON.parse(text);
  } catch {
    throw new RequestError(502, "The reply is not valid JSON.");
  }
}

export function listIndexes() {
  return call("GET", "/indexes");
}

export function describeIndex(name) {
  return call("GET", `/indexes/${encodeURIComponent(name)}`);
}

/** The first documents of an index, almost without their texts. */
export function firstDocuments(name, limit) {
  return call("GET", `/indexes/${encodeURIComponent(name)}/documents?limit=${limit}&max_text_length=1`);
}

export function readDocument(index, documentId, signal) {
  return call("GET", `/indexes/${encodeURIComponent(index)}/documents/${encodeURIComponent(documentId)}`, { signal });
}

export function readHistory(sessionId, signal) {
  return call("GET", `/chat/history/${encodeURIComponent(sessionId)}`, { signal });
}

export function clearHistory(sessionId) {
  return call("POST", "/chat/clear", { body: { session_id: sessionId } });
}

export function vote(answerId, rating, comment) {
  return call("POST", "/feedback", { body: { answer_id: answerId, rating, ...(comment ? { comment } : {}) } });
}

export function takeVoteBack(answerId) {
  return call("DELETE", `/feedback/${encodeURIComponent(answerId)}`);
}
