// Shows why there is no answer: what was searched for, the nearest passage, why it was not enough, and what to try.

import { button, byId, el, fullPlaceOf, shortened } from "./dom.js";
import { verdictLine } from "./verdicts.js";

const LONGEST = 600; // characters of the nearest passage

const WHY = {
  nothing_relevant: "No passage that was found was judged to hold the answer.",
  declined: "The model read the passages and found that they do not say it.",
  claims_unsupported: "A draft was written, but the passages do not support it, so it is not given.",
  not_useful: "A draft was written, but it does not give what is asked.",
  fallback: "No passage was judged relevant, and a draft from the best of them did not hold.",
  limit_calls: "The limit on model calls was reached before an answer was confirmed.",
  limit_tokens: "The limit on tokens was reached before an answer was confirmed.",
  limit_seconds: "The limit on time was reached before an answer was confirmed.",
  model_failed: "The model failed before an answer was confirmed.",
};

export function showAbstention(result, onAgain) {
  const nearest = nearestOf(result);
  const failure = result.path.map((step) => step.failure).find(Boolean);
  const drafted = result.claims.length ? result.claims : (result.candidates[0]?.claims ?? []);
  const facts = [
    ["Searched for", queriesOf(result)],
    ["Nearest passage", nearest ? passage(nearest) : el("p", {}, "Nothing was found.")],
    [
      "Why it was not enough",
      el(
        "div",
        {},
        el("p", {}, WHY[result.stop_reason] ?? "No answer was confirmed."),
        failure && el("p", { class: "muted", dir: "auto" }, failure),
        drafted.length > 0 &&
          el("ul", { class: "drafted" }, ...drafted.map((claim) => el("li", {}, verdictLine(claim, claim.text)))),
      ),
    ],
    ["What to try", whatToTry(result, onAgain)],
  ];
  const list = el(
    "dl",
    { class: "facts" },
    ...facts.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]),
  );
  return [el("p", { class: "answer", dir: "auto" }, result.answer), list];
}

function queriesOf({ queries, used_retrieval, path }) {
  const searched = used_retrieval || path.some((step) => step.node === "retrieve");
  if (!searched || !queries.length) return el("p", {}, "No search was made.");
  return el("ul", { class: "queries" }, ...queries.map((query) => el("li", { dir: "auto" }, query)));
}

// Returns the passage that is most probably relevant by the critic; without probabilities the most similar one.
function nearestOf({ passages }) {
  const likely = (one) => one.verdict?.probabilities?.relevant ?? (one.verdict?.label === "relevant" ? 1 : 0);
  return [...passages].sort(
    (one, other) => likely(other) - likely(one) || (other.similarity ?? 0) - (one.similarity ?? 0),
  )[0];
}

function passage(found) {
  const from = fullPlaceOf(found);
  return el(
    "div",
    { class: "nearest" },
    el("blockquote", { dir: "auto" }, shortened(found.text, LONGEST)),
    el("p", { class: "from" }, el("span", { class: "file" }, from), found.verdict && verdictLine(found.verdict)),
  );
}

function whatToTry({ stop_reason: reason, question }, onAgain) {
  const again = (text, options) =>
    el(
      "li",
      {},
      button(text, () => onAgain(options, question), { class: "link" }),
    );
  const say = (text) => el("li", {}, text);
  const limited = reason?.startsWith("limit_");
  const failed = reason === "model_failed";
  const tries = [];
  if (failed) tries.push(say("See whether the model's server runs, then:"));
  if (failed || limited) tries.push(again("Ask again", {}));
  if (!failed && !limited) {
    tries.push(say("Ask in the words that your documents use, or name what is meant."));
    tries.push(again("Search for more passages (k = 12)", { k: 12 }));
    tries.push(
      el(
        "li",
        {},
        button("Add a document that says it", () => byId("open-documents").click(), { class: "link" }),
      ),
    );
    tries.push(again("Answer without documents", { mode: "never" }));
  }
  return el("ul", { class: "tries" }, ...tries);
}
