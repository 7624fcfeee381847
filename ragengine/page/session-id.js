// Random ids of conversations.

/** A random UUID. Pages without HTTPS that are not on this machine have no `crypto.randomUUID`. */
export function newSessionId() {
  if (crypto.randomUUID) return crypto.randomUUID();
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const digits = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

/** Whether a text from the address bar or from storage can be the id of a conversation. */
export function isSessionId(text) {
  return typeof text === "string" && /^[A-Za-z0-9_-]{8,128}$/.test(text);
}
