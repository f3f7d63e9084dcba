// Lists the threads and which is being answered; they are renamed, saved and deleted here.

import { exportBar } from "./answer.js";
import { shownAddress, threadAddress } from "./address.js";
import { announce, button, byId, counted, el, showProblem, signOf } from "./dom.js";
import { editInPlace } from "./edit.js";
import { request } from "./server.js";

const MOST_LISTED = 12; // threads, until all are wanted

const section = byId("threads");
const list = section.querySelector("ol");
const dialog = byId("delete-thread");
const opened = new Set(); // the threads whose buttons are shown
let shown = "";
let most = MOST_LISTED;
let actions = {};
let doomed = null;

// `given`: onNew(), and onRenamed(id) and onDeleted(id), called after a thread was renamed or deleted here.
export function prepareThreads(given) {
  actions = given;
  section.hidden = false;
  for (const one of document.querySelectorAll(".new-thread")) one.addEventListener("click", actions.onNew);
  byId("keep-thread").addEventListener("click", () => dialog.close());
  byId("delete-form").addEventListener("submit", remove);
}

export function listThreads(threads, runs) {
  const going = new Set(runs.filter((run) => ["queued", "running"].includes(run.state)).map((run) => run.thread));
  const current = shownAddress().thread;
  const now = JSON.stringify([threads, [...going], current, most]);
  if (now === shown || list.querySelector("form")) return; // unchanged, or being edited: keep the focus
  shown = now;
  const focused = document.activeElement.closest?.("#threads [data-thread]")?.dataset.thread;
  const rows = threads.slice(0, most).map((thread) => row(thread, going.has(thread.id), thread.id === current));
  if (threads.length > most) rows.push(el("li", {}, button(`Show all ${threads.length}`, showAll, { class: "link" })));
  list.replaceChildren(...rows);
  byId("no-threads").hidden = threads.length > 0;
  if (focused) linkOf(focused)?.focus();

  function showAll() {
    const next = threads[most]?.id;
    most = Infinity;
    listThreads(threads, runs);
    linkOf(next)?.focus();
  }
}

function linkOf(id) {
  return list.querySelector(`[data-thread="${id}"] a`);
}

function row(thread, going, current) {
  const told = thread.title || "Without a question yet";
  const time = new Date(thread.updated).toLocaleString([], { dateStyle: "short", timeStyle: "short" });
  const link = el(
    "a",
    { href: threadAddress(thread.id).slice(1), dir: "auto", "aria-current": current && "true" },
    told,
  );
  const rename = button("Rename", () => edit(thread, link), { class: "link" });
  const erase = button("Delete", () => ask(thread), { class: "link" });
  const bar = el("div", { class: "buttons" }, rename, erase, exportBar(`/api/threads/${thread.id}/export`, "thread"));
  const more = button("⋯", () => unfold(!opened.has(thread.id)), {
    class: "quiet more",
    "aria-label": `Rename, save or delete ${told}`,
  });
  unfold(opened.has(thread.id));
  return el(
    "li",
    { "data-thread": thread.id },
    link,
    going && el("span", { class: "verdict none" }, signOf("…"), "being answered"),
    el("span", { class: "muted" }, counted(thread.turns, "question")),
    el("time", { datetime: thread.updated, class: "muted" }, time),
    more,
    bar,
  );

  function unfold(open) {
    if (open) opened.add(thread.id);
    else opened.delete(thread.id);
    bar.hidden = !open;
    more.setAttribute("aria-expanded", String(open));
  }
}

function edit({ id, title }, link) {
  const save = async (text) => {
    const headers = { "Content-Type": "application/json" };
    await request(`/api/threads/${id}`, { method: "PATCH", headers, body: JSON.stringify({ title: text }) });
  };
  const saved = () => {
    announce("The thread is renamed.");
    link.focus();
    actions.onRenamed(id);
  };
  const label = "Title of the thread";
  editInPlace(link, { label, value: title, send: "Rename", onSave: save, onSaved: saved, most: 200 });
}

function ask(thread) {
  doomed = thread;
  byId("delete-told").textContent =
    `“${thread.title}” and its ${counted(thread.turns, "question")}, with all answers, are deleted for good.`;
  byId("delete-problem").replaceChildren();
  dialog.showModal();
}

async function remove(event) {
  event.preventDefault();
  const { id } = doomed;
  try {
    await request(`/api/threads/${id}`, { method: "DELETE" });
  } catch (error) {
    if (error.status !== 404) {
      showProblem(byId("delete-problem"), error);
      return;
    }
  }
  dialog.close();
  announce("The thread is deleted.");
  byId("threads-title").focus();
  actions.onDeleted(id);
}
