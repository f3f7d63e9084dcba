// The page: asks, shows the thread or the run that its address names, and lists the threads or the last questions.

import { runAddress, shownAddress } from "./address.js";
import { prepareChecks } from "./check.js";
import { byId, el, showProblem, signOf } from "./dom.js";
import { chosenSources, prepareDocuments } from "./documents.js";
import { Graph } from "./graph.js";
import { closePassage, showPassage } from "./passage.js";
import { RunView } from "./run.js";
import { Failure, json, post } from "./server.js";
import { ThreadView } from "./thread.js";
import { listThreads, prepareThreads } from "./threads.js";
import { Trace } from "./trace.js";
import { shownOutcome } from "./verdicts.js";

const MOST_LAST = 12;
const LOOK_AGAIN = 5000; // milliseconds, while a thread that is not shown is being answered
const CHOICES = {
  mode: [
    "Search",
    { adaptive: "when the question needs it", always: "always", never: "never: answer without documents" },
  ],
  length: ["Length", { "": "as the question asks", short: "short", long: "long" }],
  strategy: ["Drafts", { combined: "one, from all passages", "per-passage": "one for each passage" }],
  constraints: ["Claims without support", { soft: "are marked", hard: "are never given" }],
  fallback: [
    "If nothing is relevant",
    { abstain: "say so", direct: "answer without documents", passages: "draft from the best passages" },
  ],
};

const trace = new Trace();
const onAgain = (options, question) => {
  scrollTo(0, 0);
  ask(question, options);
};
const view = new RunView(byId("outcome"), trace, { onEnd: listAsked, onAgain });
const thread = new ThreadView(trace, {
  ask,
  given: () => ({ ...chosenOptions(), ...sourcesGiven() }),
  onBegun: showThread,
  onChange: listAsked,
  onGone,
});
let settings = null;
let preparing = null;
let listing = 0;
let looks = 0;

// Load what is needed before a question can be asked; the next call tries again if that failed.
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
  byId("notes").replaceChildren(...settings.notes.map((note) => el("li", {}, note)));
  if (settings.threads) prepareThreads({ onNew, onRenamed: lookAgain, onDeleted });
  prepareDocuments(settings.uploads);
  trace.graph = await Graph.load();
}

function prepareChoices() {
  const made = Object.entries(CHOICES).map(([name, [told, words]]) => {
    const given = settings.defaults[name] ?? "";
    const options = [...(given ? [] : [""]), ...(settings.choices[name] ?? [])].map((value) =>
      el("option", { value, selected: value === given }, words[value] ?? value),
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

// Return the options that differ from the server's defaults.
function chosenOptions() {
  const chosen = {};
  for (const field of byId("choices").querySelectorAll("select, input")) {
    const value = field.name === "k" ? Number(field.value) : field.value;
    if (value !== (settings.defaults[field.name] ?? "")) chosen[field.name] = value;
  }
  return chosen;
}

function sourcesGiven() {
  const sources = chosenSources();
  return sources.length ? { sources } : {};
}

// Ask a question, or a `turn` of the thread again; while one is being sent, another is ignored.
async function ask(question, more = {}, turn = null) {
  const send = byId("send");
  if (send.disabled) return;
  send.disabled = true;
  byId("problem").replaceChildren();
  try {
    await prepared();
    if (settings.threads) {
      await thread.ask(question, more, turn);
      if (byId("question").value.trim() === question.trim()) byId("question").value = "";
    } else {
      const { id } = await post("/api/runs", { question, ...chosenOptions(), ...more, ...sourcesGiven() });
      history.pushState(null, "", runAddress(id, null));
      show(id, question);
      listAsked();
    }
  } catch (error) {
    showProblem(byId("problem"), error);
  } finally {
    send.disabled = false;
  }
}

async function show(id, question, kind = "question", ended = false) {
  document.title = `${question} · Self-RAG`;
  arrange("run");
  const asking = document.activeElement === byId("question");
  const shown = view.show(id, question, kind, ended);
  trace.choose(view);
  if (!asking && !document.querySelector("dialog[open]")) byId(`asked-${id}`).focus();
  try {
    await shown;
  } catch (error) {
    showProblem(byId("outcome"), error);
  }
}

// Prepare for a "run", a "thread" or "": a question is asked above a run, and below the turns of a thread.
function arrange(shown) {
  if (shown !== "run") view.clear();
  if (shown !== "thread") thread.clear();
  document.body.classList.toggle("has-run", shown !== "");
  document.body.classList.toggle("has-thread", shown === "thread");
  byId("title").hidden = shown === "thread";
  byId("question").placeholder =
    shown === "thread" ? "Ask a follow-up, or something else" : "What do you want to know from your documents?";
  const [asking, before] = [byId("asking"), byId(shown === "thread" ? "turns" : "thread")];
  if (asking.previousElementSibling === before) return;
  const focused = document.activeElement;
  before.after(asking);
  if (asking.contains(focused)) focused.focus();
}

function showNothing() {
  document.title = "Self-RAG";
  arrange("");
}

// Show what the address names: a thread or a run, and perhaps one of its quotes. A reply that comes after the address
// has changed is not shown.
async function route() {
  const { hash } = location;
  const { thread: id, run, citation } = shownAddress();
  byId("problem").replaceChildren();
  try {
    await prepared();
    if (id) await showThread(id, run);
    else if (run) await showRun(run);
    else showNothing();
    if (location.hash !== hash) return;
    if (citation) showPassage(run, citation);
    else closePassage();
  } catch (error) {
    if (location.hash !== hash) return;
    showNothing();
    showProblem(byId("problem"), error);
  }
  listAsked();
}

async function showThread(id, run = null) {
  if (!settings.threads) throw new Failure("This server keeps no threads.");
  arrange("thread");
  await thread.show(id, run);
}

async function showRun(id) {
  if (id === view.id) return;
  const { hash } = location;
  const run = await json(`/api/runs/${encodeURIComponent(id)}`);
  if (location.hash !== hash) return;
  if (run.thread) {
    history.replaceState(null, "", location.href.replace(/#(?:\/runs\/|run=)/, `#/threads/${run.thread}/runs/`));
    await route();
  } else show(id, run.question, run.kind, run.state === "finished");
}

function onNew() {
  location.hash = "";
  byId("question").focus();
}

// When somebody comes back to the page, show what was changed elsewhere.
function lookAgain() {
  thread.refresh();
  listAsked();
}

function onDeleted(id) {
  if (id === thread.id) onGone();
  else listAsked();
}

// Leave the thread that was shown: it has been deleted.
function onGone() {
  history.replaceState(null, "", "/");
  byId("problem").replaceChildren();
  closePassage();
  showNothing();
  listAsked();
}

// Lists the threads, and the last runs that belong to none.
async function listAsked() {
  if (!settings) return;
  const look = ++looks;
  let found;
  try {
    found = await Promise.all([json("/api/runs"), settings.threads && json("/api/threads")]);
  } catch {
    return; // keep the list as it is
  }
  if (look !== looks) return; // a newer request has been made since
  let runs = found[0].runs;
  if (settings.threads) {
    listThreads(found[1].threads, runs);
    clearTimeout(listing);
    const elsewhere = (run) => ["queued", "running"].includes(run.state) && run.thread && run.thread !== thread.id;
    if (runs.some(elsewhere)) listing = setTimeout(listAsked, LOOK_AGAIN);
    runs = runs.filter((run) => !run.thread);
    byId("history-title").textContent = "Checks, and questions without a thread";
  }
  const items = runs.slice(0, MOST_LAST).map((run) => {
    const state = run.outcome
      ? shownOutcome(run.outcome)
      : run.kind === "check" && run.state === "finished"
        ? { sign: "✓", kind: "none", word: "checked" }
        : { sign: run.state === "failed" ? "✗" : "…", kind: "none", word: run.state };
    const href = runAddress(run.id, null).slice(1);
    const began = new Date(run.began).toLocaleString([], { dateStyle: "short", timeStyle: "short" });
    return el(
      "li",
      {},
      el("a", { href, dir: "auto", "aria-current": run.id === view.id && "true" }, run.question),
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
  history.pushState(null, "", runAddress(id, null));
  show(id, name, "check");
  listAsked();
});
addEventListener("hashchange", route);
addEventListener("focus", lookAgain);

// A question in the address is filled in, not asked: a link on another site must not cause the cost of an answer.
const linked = new URLSearchParams(location.search).get("q");
if (linked) byId("question").value = linked;
if (!location.hash) byId("question").focus();
await route();
