// Follows one run: the graph, the steps, the draft while it is not checked, and then the answer.

import { showAnswer } from "./answer.js";
import { showCheck } from "./check.js";
import { announce, button, byId, el, replaceContent } from "./dom.js";
import { eventsOf, request } from "./server.js";
import { DOING } from "./steps.js";
import { shownOutcome } from "./verdicts.js";

export class RunView {
  constructor(graph, steps, { onEnd, onAgain }) {
    this.graph = graph;
    this.steps = steps;
    this.onEnd = onEnd;
    this.onAgain = onAgain;
    this.id = null;
    this.result = null;
    this.following = new AbortController();
  }

  // Show a run from its first event on; returns when it has ended, or another run is shown.
  async show(id, question, kind = "question") {
    const asking = document.activeElement === byId("question");
    this.clear();
    this.id = id;
    const { signal } = this.following;
    const outcome = byId("outcome");
    this.draft = el("p", { class: "draft", dir: "auto" });
    this.drafting = el("div", { class: "drafting", hidden: true }, el("h3", {}, "Draft, not checked yet"), this.draft);
    this.stop = button("Stop", () => this.#cancel(id), { class: "quiet" });
    this.told = el("p", { class: "muted now" }, "Waiting for the model …");
    outcome.replaceChildren(
      el("h2", { class: "asked", dir: "auto", tabindex: "-1" }, question),
      el("div", { class: "working" }, this.told, this.stop),
      this.drafting,
    );
    if (!asking && !document.querySelector("dialog[open]")) outcome.querySelector(".asked").focus();
    for await (const event of eventsOf(id, signal)) {
      if (signal.aborted) return;
      this.#take(event, question, kind);
    }
  }

  // Show nothing, and follow nothing any more.
  clear() {
    this.following.abort();
    this.following = new AbortController();
    this.id = null;
    this.result = null;
    this.graph?.clear();
    this.steps.clear();
    byId("outcome").replaceChildren();
  }

  #take({ kind, data }, question, asked) {
    switch (kind) {
      case "queued":
        this.#say("Waiting until other questions are answered");
        break;
      case "running":
        this.#say("Beginning");
        break;
      case "cut":
        this.#say("The connection was lost: trying again");
        break;
      case "node_started":
        if (["generate", "direct_generate", "finish"].includes(data.node)) this.#setDraft("");
        this.graph?.start(data.node);
        this.steps.start(data.node);
        this.#say(DOING[data.node] ?? data.node);
        break;
      case "node_finished":
        this.graph?.finish(data);
        this.steps.finish(data);
        // What was streamed, or else the whole: a model need not stream.
        if (["generate", "direct_generate"].includes(data.node)) this.#setDraft(draftOf(data.decided));
        break;
      case "claim_checked":
        this.#say(`${data.done} of ${data.total} sentences are checked`);
        break;
      case "draft_token":
        this.#setDraft(this.draft.textContent + data.text);
        break;
      case "finished":
        this.#end();
        this.result = data.result;
        if (asked === "check") {
          byId("doing").textContent = "Done. A claim shows its quote; a click opens it in its document.";
          showCheck(this.id, question, data.result);
          announce(`${data.result.claims.length} sentences are checked.`);
          this.onEnd();
          break;
        }
        byId("doing").textContent = "Done. Each step below unfolds into its verdicts, with their probabilities.";
        showAnswer(this.id, data.result, this.onAgain);
        announce(`${shownOutcome(data.result.outcome).word}. ${data.result.answer}`);
        this.onEnd();
        break;
      case "failed":
        this.#fail(data.message, question, asked);
        break;
      case "cancelled":
        this.#fail("The question was stopped before it was answered.", question, asked);
        break;
    }
  }

  #setDraft(text) {
    this.draft.textContent = text;
    this.drafting.hidden = !text;
  }

  #say(text) {
    this.told.textContent = `${text} …`;
    byId("doing").textContent = `${text} …`;
    announce(text);
  }

  #end() {
    this.graph?.end();
    this.steps.end();
  }

  #fail(message, question, asked) {
    this.#end();
    byId("doing").textContent = "The run ended early.";
    replaceContent(
      byId("outcome"),
      el("h2", { class: "asked", dir: "auto", tabindex: "-1" }, question),
      el(
        "div",
        { class: "failure", role: "alert" },
        el("p", {}, message),
        asked === "question" && button("Ask again", () => this.onAgain({}, question), { class: "primary" }),
      ),
    );
    this.onEnd();
  }

  async #cancel(id) {
    this.stop.disabled = true;
    try {
      await request(`/api/runs/${encodeURIComponent(id)}`, { method: "DELETE" });
    } catch (error) {
      this.#say(error.message);
    }
  }
}

function draftOf(decided) {
  if (decided.stop) return "";
  return (decided.texts?.length > 1 ? decided.texts.join("\n\n") : decided.text) ?? "";
}
