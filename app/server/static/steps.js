// Lists the steps of a run: what each node decided, and every verdict with its probability.

import { byId, el, placeOf, shortened } from "./dom.js";
import { verdictLine } from "./verdicts.js";

export const DOING = {
  contextualize: "Finding out what the question means",
  decide: "Deciding whether documents are needed",
  retrieve: "Searching the documents",
  query_table: "Asking all rows of a table",
  grade_documents: "Judging whether each passage is relevant",
  rewrite_query: "Looking for another query",
  generate: "Drafting from the passages",
  direct_generate: "Drafting without documents",
  hallucination_check: "Checking each claim against the passages",
  answer_check: "Judging whether the answer is useful",
  select: "Choosing the best draft",
  compare_answers: "Looking whether documents disagree",
  finish: "Citing the evidence",
};

export class Steps {
  constructor() {
    this.list = byId("steps");
    this.clear();
  }

  clear() {
    this.list.replaceChildren();
    this.running = new Map();
  }

  start(node) {
    const item = el(
      "li",
      { class: "running" },
      el("span", { class: "node-name" }, node),
      el("span", { class: "muted" }, "…"),
    );
    this.running.set(node, item);
    this.list.append(item);
  }

  finish({ node, seconds, summary, decided }) {
    const item = this.running.get(node) ?? this.list.appendChild(el("li"));
    this.running.delete(node);
    const head = [
      el("span", { class: "node-name" }, node),
      el("span", { class: "seconds" }, `${seconds.toFixed(1)} s`),
      el("span", { class: "summary", dir: "auto" }, shortened(summary, 300)),
    ];
    const verdicts = verdictsOf(node, decided);
    item.className = decided.stop ? "stopped" : "";
    if (verdicts.length === 0) item.replaceChildren(...head);
    else {
      const lines = el("ul", {}, ...verdicts.map((line) => el("li", {}, line)));
      item.replaceChildren(el("details", {}, el("summary", {}, ...head), lines));
    }
  }

  end() {
    for (const item of this.running.values()) item.remove();
    this.running.clear();
  }
}

function verdictsOf(node, decided) {
  if (decided.stop) return [];
  switch (node) {
    case "query_table":
    case "rewrite_query":
      return decided.verdict ? [verdictLine(decided.verdict, decided.name ?? decided.query)] : [];
    case "decide":
      return decided.verdict ? [verdictLine(decided.verdict)] : [];
    case "grade_documents":
      return (decided.grades ?? []).map((grade) => verdictLine(grade.verdict, placeOf(grade)));
    case "hallucination_check":
      return (decided.claims ?? []).map((claim) => verdictLine(claim.verdict, claim.text));
    case "answer_check":
      return (decided.usefulness ?? []).map((verdict) => verdictLine(verdict));
    default:
      return [];
  }
}
