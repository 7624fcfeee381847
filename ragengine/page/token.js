// Requests that need a token: the reader's own, or the write token. A refusal asks the reader for it.

import { askText } from "./dialogs.js";
import { forgetToken, keepToken } from "./token-store.js";

/** Sends a request. When the server wants a token (401), asks for it and sends again, until it fits or the reader gives up. */
export async function withToken(send) {
  while (true) {
    try {
      return await send();
    } catch (error) {
      if (error.status !== 401) throw error;
      forgetToken();
      const token = await askForToken(error.detail);
      if (!token) throw error;
      keepToken(token);
    }
  }
}

let asking = null;

/** One dialog is enough for requests that are refused at the same time. */
function askForToken(detail) {
  asking ??= askText({
    title: "Sign in",
    text: `${detail || "The server wants a token for this."} The token is kept in this tab only, until it is closed.`,
    label: "Token",
    submit: "Continue",
    test: "token-dialog",
    type: "password",
    autocomplete: "off",
  }).finally(() => (asking = null));
  return asking;
}
