// How an answer came about: what was searched for, which passages were used and why not the others.

import { element } from "./dom.js";
import { titleOf } from "./citations.js";

const DECISIONS = {
  selected: "Used",
  over_threshold: "Not used: too far from the question",
  over_budget: "Not used: no room left for it",
  duplicate: "Not used: says the same as another passage",
};

const REASONS = {
  no_index: "No index was chosen, so no documents were searched.",
  tools: "The request has tools, so no documents were searched.",
  role: "The conversation has a role that is not searched for.",
  content: "The question is not text only, so no documents were searched.",
  nothing_relevant: "No passage was near enough to the question.",
  over_budget: "No near passage fits into the room that the language model leaves.",
};

const STAGES = {
  rewrite: "Rewrite the question",
  acronyms: "Expand acronyms",
  filters: "Choose a filter",
  retrieval: "Search",
  feedback: "Count votes",
  recency: "Prefer newer passages",
  rerank: "Put passages in order",
  diversity: "Leave out repetitions",
  interactions: "Find earlier questions",
};

const OUTCOMES = {
  done: "done",
  unchanged: "changed nothing",
  failed: "failed",
  timeout: "took too long",
  nonsense: "the reply was of no use",
  dropped: "found nothing and was dropped",
};

/** The disclosure below an answer, or null if the reply explains nothing. It is filled when it is opened first. */
export function explanationOf({ explanation, condensed_question: condensed }, sources) {
  if (!explanation && !condensed) return null;
  const details = element(
    "details",
    { class: "explain", test: "explain" },
    element("summary", { text: "How this was answered" }),
  );
  const fill = () => {
    const body = element("div", { class: "explain-body" });
    if (condensed)
      body.append(element("p", { test: "condensed-question" }, "Searched for: ", element("q", { text: condensed })));
    if (explanation) body.append(...partsOf(explanation, sources));
    details.append(body);
  };
  details.addEventListener("toggle", fill, { once: true });
  return details;
}

function partsOf(explanation, sources) {
  const chunks = explanation.chunks ?? [];
  const stages = explanation.stages ?? [];
  return [
    element("p", { text: summaryOf(explanation, chunks) }),
    budgetOf(explanation),
    chunks.length > 0
      ? table(
          "Passages",
          ["Passage", "Distance", "Tokens", "Decision"],
          chunks.map((chunk) => passageRow(chunk, sources)),
        )
      : null,
    stages.length > 0 ? table("Steps", ["Step", "Result", "Time"], stages.map(stageRow)) : null,
  ].filter(Boolean);
}

function summaryOf({ path, reason }, chunks) {
  if (reason) return REASONS[reason] ?? `No documents were used: ${reason}.`;
  const used = chunks.filter(({ decision }) => decision === "selected").length;
  if (path === "rag") return `${used} of ${chunks.length} passages that were found were given to the language model.`;
  return "The language model answered without documents.";
}

function budgetOf(explanation) {
  const {
    context_tokens: context,
    window_tokens: window,
    prompt_tokens: prompt,
    max_distance: maxDistance,
    evidence,
  } = explanation;
  const facts = [
    context ? `Passages: ${format(context.used)} of at most ${format(context.budget)} tokens` : null,
    prompt ? `Prompt: ${format(prompt)} tokens` : null,
    window ? `Context window: ${format(window)} tokens` : null,
    maxDistance !== undefined && maxDistance !== null ? `Greatest distance allowed: ${maxDistance.toFixed(2)}` : null,
    evidence ? `Chance that the documents have the answer: ${Math.round(evidence.probability * 100)} %` : null,
  ].filter(Boolean);
  return facts.length > 0 ? element("p", { class: "muted", text: facts.join(" · ") }) : null;
}

function passageRow(chunk, sources) {
  const source =
    sources.find(({ node_id: id }) => id === chunk.node_id) ?? sources.find(({ doc_id: id }) => id === chunk.doc_id);
  const name = source ? titleOf(source) : chunk.doc_id;
  const number = source?.node_id === chunk.node_id ? `[${source.number}] ` : "";
  return [
    element(
      "span",
      { title: `Document ${chunk.doc_id}, passage ${chunk.node_id}` },
      `${number}${name}`,
      element("small", { class: "node-id", text: shortened(chunk.node_id) }),
    ),
    Number.isFinite(chunk.distance) ? chunk.distance.toFixed(3) : "–",
    Number.isFinite(chunk.tokens) ? format(chunk.tokens) : "–",
    element("span", {
      class: `decision ${chunk.decision === "selected" ? "used" : ""}`,
      text: DECISIONS[chunk.decision] ?? chunk.decision,
    }),
  ];
}

function stageRow({ stage, outcome, elapsed_ms: elapsed, question }) {
  const result = OUTCOMES[outcome] ?? outcome;
  return [
    STAGES[stage] ?? stage,
    question ? `${result}: “${question}”` : result,
    Number.isFinite(elapsed) ? `${elapsed.toFixed(elapsed < 10 ? 1 : 0)}\u00a0ms` : "–",
  ];
}

function table(caption, heads, rows) {
  return element(
    "div",
    { class: "table-frame", tabindex: "0", role: "group", "aria-label": caption },
    element(
      "table",
      {},
      element("caption", { text: caption }),
      element("thead", {}, element("tr", {}, ...heads.map((head) => element("th", { scope: "col", text: head })))),
      element("tbody", {}, ...rows.map((cells) => element("tr", {}, ...cells.map((cell) => element("td", {}, cell))))),
    ),
  );
}

function format(number) {
  return Number(number).toLocaleString("en");
}

function shortened(id) {
  return id.length <= 12 ? id : `${id.slice(0, 12)}…`;
}
