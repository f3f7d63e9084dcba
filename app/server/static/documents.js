// Shows the documents: which are asked, which are being added and read, and why some are left out.

import { button, byId, counted, el, showProblem, signOf } from "./dom.js";
import { Failure, json, request } from "./server.js";

const MOST_LISTED = 200;
const MOST_CHOSEN = 100; // sources that a question may name
const POLL = 700; // milliseconds, while documents are indexed

let documents = [];
let limits = { most_bytes: 0, suffixes: [] };
let left = new Set(); // the sources that are not asked
let only = null; // the sources that alone are asked, after "None"
let uploading = 0;
let tellLimits;
const limitsKnown = new Promise((resolve) => (tellLimits = resolve));

const dialog = byId("documents");

// Returns the sources that a question names; none means all. Throws if there are too many.
export function chosenSources() {
  const chosen = documents.filter((one) => one.passages > 0 && isChosen(one));
  if (!only && !left.size) return [];
  if (!chosen.length) throw new Failure("No document is chosen: choose at least one under Documents.");
  if (chosen.length === documents.filter((one) => one.passages > 0).length) return [];
  if (chosen.length > MOST_CHOSEN) throw new Failure(`Choose all documents, or at most ${MOST_CHOSEN}.`);
  return chosen.map((one) => `/${one.source.replace(/[[*?]/g, "[$&]")}`);
}

export async function prepareDocuments(uploads) {
  limits = uploads;
  tellLimits();
  if (!limits.suffixes.length) {
    byId("open-documents").hidden = byId("scope").hidden = true;
    return;
  }
  const most = Math.round(limits.most_bytes / 1e6);
  byId("kinds").textContent = `Drop files here, or choose them: ${limits.suffixes.join(", ")}, up to ${most} MB each.`;
  byId("files").accept = limits.suffixes.join(",");
  await refresh();
}

function isChosen(one) {
  return only ? only.has(one.source) : !left.has(one.source);
}

async function refresh() {
  const before = JSON.stringify(documents);
  try {
    documents = (await json("/api/documents")).documents;
    byId("documents-problem").replaceChildren();
    if (before === JSON.stringify(documents)) return; // unchanged: keep the focus
  } catch (error) {
    showProblem(byId("documents-problem"), error);
  }
  render();
}

function render() {
  const wanted = byId("narrow").value.trim().toLowerCase();
  const fitting = documents.filter((one) => one.name.toLowerCase().includes(wanted));
  const rows = fitting.slice(0, MOST_LISTED).map(row);
  if (fitting.length > MOST_LISTED)
    rows.push(
      el("li", { class: "muted" }, `and ${counted(fitting.length - MOST_LISTED, "more", "more")}: narrow them by name`),
    );
  byId("listed").replaceChildren(...rows);
  byId("listed").hidden = !rows.length;
  document.querySelector(".narrow").hidden = documents.length <= 12;
  tellChoice();
}

function tellChoice() {
  const readable = documents.filter((one) => one.passages > 0);
  const chosen = readable.filter(isChosen);
  const all = chosen.length === readable.length;
  const told = all
    ? `All ${counted(readable.length, "document")}`
    : `${chosen.length} of ${counted(readable.length, "document")}`;
  byId("scope").textContent = `Asks ${told.replace("All", "all")}`;
  byId("chosen").textContent = `${told} ${chosen.length === 1 ? "is" : "are"} asked.`;
}

function row(one) {
  const failed = one.status === "failed" || (one.status === "empty" && one.reason);
  const told = toldOf(one, failed);
  const name = el("span", { class: "name", title: one.source, dir: "auto" }, one.name);
  const state = el("span", { class: failed ? "state bad" : "state muted" }, failed ? signOf("✗") : null, told);
  const choice =
    one.passages > 0 &&
    el("input", { type: "checkbox", onchange: (event) => choose(one.source, event.target.checked) });
  if (choice) choice.checked = isChosen(one);
  const label = el(
    choice ? "label" : "span",
    { class: "one" },
    choice || el("span", { class: "no-choice" }),
    el("span", {}, name, state),
  );
  return el("li", {}, label, one.removable && one.status !== "indexing" && removal(one));
}

function toldOf({ status, passages, reason }, failed) {
  if (status === "indexing") return "being indexed …";
  if (failed) return `left out: ${reason}`;
  return passages ? counted(passages, "passage") : "left out: it holds no text";
}

function choose(source, wanted) {
  const adds = Boolean(only) === wanted;
  const sources = only ?? left;
  if (adds) sources.add(source);
  else sources.delete(source);
  tellChoice();
}

// The first click asks, the second removes.
function removal(one) {
  const made = button(
    "Remove",
    async () => {
      if (made.dataset.sure !== "yes") {
        made.dataset.sure = "yes";
        made.textContent = "Remove it?";
        made.setAttribute("aria-label", `Remove ${one.name}: press again to confirm`);
        return;
      }
      made.disabled = true;
      try {
        await request(`/api/documents/${encodeURIComponent(one.name)}`, { method: "DELETE" });
        await refresh();
        byId("documents-title").focus();
      } catch (error) {
        made.disabled = false;
        showProblem(byId("documents-problem"), error);
      }
    },
    { class: "link", "aria-label": `Remove ${one.name}` },
  );
  return made;
}

async function upload(files) {
  await limitsKnown; // files may be dropped before the limits are known
  if (!limits.suffixes.length) return;
  if (!dialog.open) dialog.showModal();
  uploading += 1;
  follow();
  for (const file of files) {
    const state = el("span", { class: "state muted" }, "being sent and indexed …");
    byId("uploads").prepend(el("li", {}, el("span", { class: "name", dir: "auto" }, file.name), state));
    try {
      tellUpload(state, await send(file));
    } catch (error) {
      tell(state, `left out: ${error.message}`, "bad");
    }
  }
  uploading -= 1;
  await refresh();
}

async function send(file) {
  if (limits.most_bytes && file.size > limits.most_bytes) {
    throw new Failure(`it is larger than the ${Math.round(limits.most_bytes / 1e6)} MB that the server takes.`);
  }
  return json(`/api/documents/${encodeURIComponent(file.name)}`, { method: "PUT", body: file });
}

function tellUpload(state, { status, reason, passages }) {
  if (passages > 0) tell(state, `added: ${counted(passages, "passage")}`, "good");
  else tell(state, `left out: ${reason || (status === "empty" ? "it holds no text" : status)}`, "bad");
}

function tell(state, text, kind) {
  state.className = `state ${kind}`;
  state.replaceChildren(signOf(kind === "good" ? "✓" : "✗"), text);
}

// Updates the list while documents are being indexed.
async function follow() {
  if (uploading !== 1) return;
  while (uploading) {
    await new Promise((resolve) => setTimeout(resolve, POLL));
    if (uploading) await refresh();
  }
}

byId("open-documents").addEventListener("click", () => dialog.showModal());
byId("scope").addEventListener("click", () => dialog.showModal());
byId("narrow").addEventListener("input", render);
byId("choose-all").addEventListener("click", () => {
  [only, left] = [null, new Set()];
  render();
});
byId("choose-none").addEventListener("click", () => {
  only = new Set();
  render();
});
byId("files").addEventListener("change", (event) => {
  upload([...event.target.files]);
  event.target.value = "";
});
addEventListener("dragover", (event) => {
  if (!event.dataTransfer.types.includes("Files")) return;
  event.preventDefault();
  document.body.classList.toggle("dropping", !byId("check").open);
});
addEventListener("dragleave", (event) => !event.relatedTarget && document.body.classList.remove("dropping"));
addEventListener("drop", (event) => {
  if (!event.dataTransfer.types.includes("Files")) return;
  event.preventDefault();
  document.body.classList.remove("dropping");
  if (byId("check").open) byId("check-file").files = event.dataTransfer.files;
  else upload([...event.dataTransfer.files]);
});
