// The words, signs and classes of verdicts and outcomes; colour is never the only sign.

import { el, signOf } from "./dom.js";

const LABELS = {
  "fully supported": { sign: "✓", kind: "good", word: "Supported" },
  "partially supported": { sign: "◐", kind: "part", word: "Partly supported" },
  "no support": { sign: "✗", kind: "bad", word: "Not supported" },
  contradicted: { sign: "≠", kind: "bad", word: "Contradicted" },
  "no claim": { sign: "·", kind: "none", word: "No claim" },
  relevant: { sign: "✓", kind: "good", word: "Relevant" },
  irrelevant: { sign: "–", kind: "none", word: "Not relevant" },
  retrieve: { sign: "→", kind: "none", word: "Search" },
  direct: { sign: "→", kind: "none", word: "No documents needed" },
};

const OUTCOMES = {
  grounded: { sign: "✓", kind: "good", word: "Supported by the documents" },
  partially_grounded: { sign: "◐", kind: "part", word: "Partly supported by the documents" },
  direct: { sign: "○", kind: "none", word: "Not from your documents" },
  abstained: { sign: "—", kind: "none", word: "No answer in the documents" },
  stopped: { sign: "✗", kind: "bad", word: "Stopped before an answer was confirmed" },
};

export function shownVerdict(label) {
  return LABELS[label] ?? { sign: "?", kind: "none", word: label === "unknown" ? "Not checked" : label };
}

export function shownOutcome(outcome) {
  return OUTCOMES[outcome] ?? OUTCOMES.stopped;
}

// Returns the probability of the chosen label; null if the model gives none.
export function sureness({ label, probabilities }) {
  return probabilities?.[label] ?? null;
}

export function verdictLine(verdict, judged = null) {
  const { sign, kind, word } = shownVerdict(verdict.label);
  const sure = sureness(verdict);
  const line = el(
    "span",
    { class: `verdict ${kind}` },
    signOf(sign),
    el("span", { class: "word" }, /^\d$/.test(verdict.label) ? `Usefulness ${verdict.label} of 5` : word),
  );
  if (sure !== null) line.append(likelihood(sure));
  return el(
    "span",
    { class: "judged" },
    line,
    judged && el("span", { class: "what", dir: "auto" }, judged),
    verdict.reason && el("span", { class: "why", dir: "auto" }, verdict.reason),
  );
}

function likelihood(sure) {
  const bar = el("span", { class: "likely", "aria-hidden": "true" }, el("span"));
  bar.firstChild.style.width = `${Math.round(100 * sure)}%`;
  return el("span", { class: "sure", title: "Probability of this verdict" }, sure.toFixed(2), bar);
}
