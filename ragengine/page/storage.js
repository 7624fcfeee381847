// Reading and writing browser storage, which is named by its area: `localStorage` or `sessionStorage`. A browser may
// refuse it (even the access to the area then throws) or have no room; the page works on without it.

export function read(area, key) {
  try {
    return globalThis[area].getItem(key);
  } catch {
    return null;
  }
}

export function write(area, key, value) {
  try {
    globalThis[area].setItem(key, value);
    return true;
  } catch {
    return false;
  }
}

export function remove(area, key) {
  try {
    globalThis[area].removeItem(key);
  } catch {
    // Nothing was stored then.
  }
}

/** A stored JSON value, or `fallback` if there is none or it cannot be read. */
export function readJson(area, key, fallback) {
  try {
    return JSON.parse(read(area, key)) ?? fallback;
  } catch {
    return fallback;
  }
}
