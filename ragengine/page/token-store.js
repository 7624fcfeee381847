// The token of the reader. It stays in this tab only, and is gone when the tab is closed.

import * as storage from "./storage.js";

const KEY = "ragengine.writeToken";
let token = storage.read("sessionStorage", KEY);

export function keepToken(value) {
  token = value;
  storage.write("sessionStorage", KEY, value);
}

export function forgetToken() {
  token = null;
  storage.remove("sessionStorage", KEY);
}

/** The header that carries the token. */
export function authorization() {
  return token ? { authorization: `Bearer ${token}` } : {};
}
