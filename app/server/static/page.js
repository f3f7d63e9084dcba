// The page: asks, shows the run that its address names, and keeps the list of the last questions.

import { prepareChecks } from "./check.js";
import { byId, el, showProblem, signOf } from "./dom.js";
import { chosenSources, prepareDocuments } from "./documents.js";
import { Graph } from "./graph.js";
import { closePassage, showPassage } from "./passage.js";
import { RunView } from "./run.js";
import { json, post } from "./server.js";
import { Steps } from "./steps.js";
import { shownOutcome } from "./verdicts.js";

const ADDRESS = /^#(?:\/runs\/|run=)([\w-]+)(?:\/citations\/(\d+))?$/;
const MOST_LAST = 12;
const CHOICES = {
  mode: [
    "Search",
    { adaptive: "when the question needs it", always: "always", never: "never: answer without documents" },
  ],
  strategy: ["Drafts", { combined: "one, from all passages", "per-passage": "one for each passage" }],
  constraints: ["Claims without support", { soft: "are marked", hard: "are never given" }],
  fallback: [
    "If nothing is relevant",
    { abstain: "say so", direct: "answer without documents", passages: "draft from the best passages" },
  ],
};

const view = new RunView(null, new Steps(), { onEnd: listLast, onAgain: askAgain });
let settings = null;
let preparing = null;

// What is needed before a question can be asked; tried again where it failed.
function prepared() {
  preparing ??= prepare().catch((error) => {
    preparing = null;
    throw error;
  });
  return preparing;
}

async function prepare() {
  settings = await json("/api/settings");
  prepareChoices();
  view.graph = await Graph.load();
}

function prepareChoices() {
  const made = Object.entries(CHOICES).map(([name, [told, words]]) => {
    const options = (settings.choices[name] ?? []).map((value) =>
      el("option", { value, selected: value === settings.defaults[name] }, words[value] ?? value),
    );
    return choice(told, el("select", { name, id: `choice-${name}` }, ...options));
  });
  const [least, most] = settings.choices.k;
  const k = el("input", {
    type: "number",
    name: "k",
    id: "choice-k",
    min: least,
    max: most,
    value: settings.defaults.k,
    required: true,
  });
  byId("choices").replaceChildren(...made, choice("Passages of a search (k)", k));
}

function choice(told, field) {
  return el("div", {}, el("label", { for: field.id }, told), field);
}

// What differs from the server's defaults.
function chosenOptions() {
  const chosen = {};
  for (const field of byId("choices").querySelectorAll("select, input")) {
    const value = field.name === "k" ? Number(field.value) : field.value;
    if (value !== settings.defaults[field.name]) chosen[field.name] = value;
  }
  return chosen;
}

async function ask(question, more = {}) {
  const send = byId("send");
  send.disabled = true;
  byId("problem").replaceChildren();
  try {
    await prepared();
    const sources = chosenSources();
    const { id } = await post("/api/runs", {
      question,
      ...chosenOptions(),
      ...more,
      ...(sources.length ? { sources } : {}),
    });
    history.pushState(null, "", `/#/runs/${id}`);
    show(id, question);
    listLast();
  } catch (error) {
    showProblem(byId("problem"), error);
  } finally {
    send.disabled = false;
  }
}

function askAgain(options, question) {
  byId("question").value = question;
  for (const [name, value] of Object.entries(options)) {
    const field = byId("choices").querySelector(`[name="${name}"]`);
    if (field) field.value = value;
  }
  scrollTo(0, 0);
  return ask(question, options);
}

async function show(id, question, kind = "question") {
  document.title = `${question} · Self-RAG`;
  document.body.classList.add("has-run");
  try {
    await view.show(id, question, kind);
  } catch (error) {
    showProblem(byId("outcome"), error);
  }
}

// Show what the address names: a run, and perhaps one of its quotes.
async function route() {
  const [, id, citation] = ADDRESS.exec(location.hash) ?? [];
  if (!id) {
    closePassage();
    document.body.classList.remove("has-run");
    document.title = "Self-RAG";
    view.clear();
    return;
  }
  byId("problem").replaceChildren();
  let run = null;
  try {
    if (id !== view.id || citation) run = await json(`/api/runs/${encodeURIComponent(id)}`);
  } catch (error) {
    view.clear();
    showProblem(byId("problem"), error);
    return;
  }
  if (id !== view.id) show(id, run.question, run.kind);
  if (citation) showPassage(id, Number(citation), run.result?.citations.length ?? 0);
  else closePassage();
}

async function listLast() {
  let runs = [];
  try {
    ({ runs } = await json("/api/runs"));
  } catch {
    return; // what is listed stays
  }
  const items = runs.slice(0, MOST_LAST).map((run) => {
    const state = run.outcome
      ? shownOutcome(run.outcome)
      : run.kind === "check" && run.state === "finished"
        ? { sign: "✓", kind: "none", word: "checked" }
        : { sign: run.state === "failed" ? "✗" : "…", kind: "none", word: run.state };
    const began = new Date(run.began).toLocaleString([], { dateStyle: "short", timeStyle: "short" });
    return el(
      "li",
      {},
      el("a", { href: `#/runs/${run.id}`, dir: "auto", "aria-current": run.id === view.id && "true" }, run.question),
      el("span", { class: `verdict ${state.kind}` }, signOf(state.sign), state.word),
      el("time", { datetime: run.began, class: "muted" }, began),
    );
  });
  byId("history").hidden = !items.length;
  byId("history")
    .querySelector("ol")
    .replaceChildren(...items);
}

byId("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  const question = byId("question").value.trim();
  if (question) ask(question);
});
byId("question").addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  byId("ask").requestSubmit();
});
for (const close of document.querySelectorAll("dialog .close")) {
  close.addEventListener("click", () => close.closest("dialog").close());
}
prepareChecks((id, name) => {
  history.pushState(null, "", `/#/runs/${id}`);
  show(id, name, "check");
  listLast();
});
addEventListener("hashchange", route);

// A question in the address is filled in, not asked: a link on another site must not spend what an answer costs.
const linked = new URLSearchParams(location.search).get("q");
if (linked) byId("question").value = linked;
if (!location.hash) byId("question").focus();
try {
  await prepared();
  await Promise.all([route(), listLast(), prepareDocuments(settings.uploads)]);
} catch (error) {
  showProblem(byId("problem"), error);
}
