// Sends a document. `fetch` cannot say how much of a request is sent, so this is an `XMLHttpRequest`.

import { detailOf, RequestError } from "./errors.js";
import { authorization } from "./token-store.js";

/** `onProgress` gets the part that is sent, 0 to 1. */
export function sendDocument(index, document, onProgress, signal) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", "/index");
    request.setRequestHeader("content-type", "application/json");
    for (const [name, value] of Object.entries(authorization())) request.setRequestHeader(name, value);
    request.upload.addEventListener(
      "progress",
      ({ loaded, total, lengthComputable }) => lengthComputable && onProgress(loaded / total),
    );
    request.upload.addEventListener("load", () => onProgress(1));
    request.addEventListener("load", () => {
      if (request.status >= 200 && request.status < 300) return resolve();
      const wait = Number.parseInt(request.getResponseHeader("retry-after") ?? "", 10);
      reject(new RequestError(request.status, detailOf(request.responseText), Number.isFinite(wait) ? wait : null));
    });
    request.addEventListener("error", () => reject(new RequestError(0, "")));
    request.addEventListener("abort", () => reject(new DOMException("The upload was stopped.", "AbortError")));
    signal.addEventListener("abort", () => request.abort());
    request.send(JSON.stringify({ index_name: index, documents: [document] }));
  });
}
