// Asks the reader about an answer: is it right, wrong or incomplete, and if not right, what would be.

import { announce, button, el, signOf } from "./dom.js";
import { post } from "./server.js";

const JUDGEMENTS = [
  ["right", "✓", "Right"],
  ["wrong", "✗", "Wrong"],
  ["missing", "+", "Something is missing"],
];

export function feedbackBar(id) {
  const problem = el("span", { role: "alert" });
  const more = el("div", { class: "more", hidden: true });
  const buttons = JUDGEMENTS.map(([judgement, sign, word]) =>
    button("", () => say({ judgement }), { class: "link", "aria-pressed": "false", "data-judgement": judgement }),
  );
  buttons.forEach((one, index) => one.append(signOf(JUDGEMENTS[index][1]), JUDGEMENTS[index][2]));
  const right = el("textarea", { id: `right-${id}`, rows: "2", maxlength: "8000", dir: "auto" });
  more.append(
    el("label", { for: `right-${id}` }, "What would be right? (not needed)"),
    right,
    button("Add", () => say({ judgement: chosen(), answer: right.value.trim() || null }), { class: "quiet" }),
  );

  function chosen() {
    return buttons.find((one) => one.getAttribute("aria-pressed") === "true")?.dataset.judgement;
  }

  async function say(given) {
    problem.textContent = "";
    try {
      await post(`/api/runs/${encodeURIComponent(id)}/feedback`, given);
      for (const one of buttons) one.setAttribute("aria-pressed", String(one.dataset.judgement === given.judgement));
      more.hidden = given.judgement === "right" || Boolean(given.answer);
      announce("Kept. Thank you.");
    } catch (error) {
      problem.textContent = error.message;
    }
  }

  return el(
    "div",
    { class: "feedback", role: "group", "aria-label": "What do you say of this answer?" },
    el("span", { class: "muted" }, "Is this right?"),
    ...buttons,
    problem,
    more,
  );
}
