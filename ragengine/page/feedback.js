// Thumbs up and down below an answer. The server keeps the votes; this browser remembers which buttons are pressed.

import { takeVoteBack, vote } from "./api.js";
import { element } from "./dom.js";
import { inOneLine } from "./errors.js";
import { setIcon } from "./icons.js";
import * as storage from "./storage.js";
import { toast } from "./toast.js";
import { withToken } from "./token.js";

const KEY = "ragengine.votes";
const MAX_VOTES = 1000;
const MAX_COMMENT = 4000;

/** The two buttons, and the field for a comment that follows them. */
export function thumbs(answerId) {
  const up = thumb("up", "Good answer");
  const down = thumb("down", "Bad answer");
  const comment = element("div", { class: "comment" });
  const show = (rating) => {
    up.setAttribute("aria-pressed", String(rating === "up"));
    down.setAttribute("aria-pressed", String(rating === "down"));
  };
  const choose = async (rating) => {
    const before = rememberedVote(answerId);
    const next = before === rating ? null : rating;
    show(next);
    comment.replaceChildren();
    try {
      await withToken(() => (next ? vote(answerId, next) : takeVoteBack(answerId)));
      rememberVote(answerId, next);
      if (next) comment.replaceChildren(commentForm(answerId, next));
    } catch (error) {
      show(before);
      toast(`The vote was not kept. ${inOneLine(error)}`);
    }
  };
  up.addEventListener("click", () => choose("up"));
  down.addEventListener("click", () => choose("down"));
  show(rememberedVote(answerId));
  return [up, down, comment];
}

function thumb(rating, label) {
  const button = element("button", {
    type: "button",
    class: `icon-button small thumb-${rating}`,
    test: `thumb-${rating}`,
    "aria-label": label,
    title: label,
  });
  setIcon(button, "thumb");
  return button;
}

function commentForm(answerId, rating) {
  const input = element("input", {
    type: "text",
    class: "field",
    test: "vote-comment",
    maxlength: MAX_COMMENT,
    "aria-label": rating === "up" ? "What is good? (optional)" : "What is wrong? (optional)",
    placeholder: rating === "up" ? "What is good? (optional)" : "What is wrong? (optional)",
  });
  const form = element(
    "form",
    { class: "comment-form" },
    input,
    element("button", { type: "submit", class: "button quiet", text: "Send" }),
  );
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const text = input.value.trim();
    if (text === "") return;
    try {
      await withToken(() => vote(answerId, rating, text));
      form.replaceWith(element("span", { class: "muted", role: "status", text: "Thank you." }));
    } catch (error) {
      toast(`The comment was not kept. ${inOneLine(error)}`);
    }
  });
  return form;
}

function votes() {
  const stored = storage.readJson("localStorage", KEY, []);
  return Array.isArray(stored) ? stored.filter(Array.isArray) : [];
}

function rememberedVote(answerId) {
  return votes().find(([id]) => id === answerId)?.[1] ?? null;
}

function rememberVote(answerId, rating) {
  const others = votes().filter(([id]) => id !== answerId);
  const all = rating ? [[answerId, rating], ...others] : others;
  storage.write("localStorage", KEY, JSON.stringify(all.slice(0, MAX_VOTES)));
}
