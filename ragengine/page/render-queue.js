// Work that is done piece by piece between frames, so that scrolling stays smooth while it is done.

const BUDGET_MS = 6;
const waiting = [];
let isScheduled = false;

/** Does a piece of work soon. The piece that was added last comes first: it is what the reader looks at now. */
export function renderSoon(work) {
  waiting.push(work);
  schedule();
}

function schedule() {
  if (isScheduled) return;
  isScheduled = true;
  requestAnimationFrame(() => {
    isScheduled = false;
    const end = performance.now() + BUDGET_MS;
    while (waiting.length > 0 && performance.now() < end) waiting.pop()();
    if (waiting.length > 0) schedule();
  });
}
