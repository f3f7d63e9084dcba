// Follows one run from its first event on: its draft while it is answered, then its answer.

import { askedHeading, showAnswer } from "./answer.js";
import { showCheck } from "./check.js";
import { announce, button, el, replaceContent } from "./dom.js";
import { eventsOf, request } from "./server.js";
import { toldOf } from "./trace.js";
import { shownOutcome } from "./verdicts.js";

const DRAFTING = ["generate", "direct_generate"];

export class RunView {
  // `actions`: onEnd(), onAgain(options, question) and, in a thread, onCorrect(line).
  constructor(place, trace, actions) {
    this.place = place;
    this.trace = trace;
    this.actions = actions;
    this.clear();
  }

  // Show a run from its first event on, or only its end if it has `ended`; return at its end, or if another is shown.
  async show(id, question, kind = "question", ended = false) {
    this.clear();
    [this.id, this.question, this.state] = [id, question, "running"];
    const { signal } = this.following;
    this.draft = el("p", { class: "draft", dir: "auto" });
    this.drafting = el("div", { class: "drafting", hidden: true }, el("h3", {}, "Draft, not checked yet"), this.draft);
    this.stop = button("Stop", () => this.#cancel(id), { class: "quiet" });
    this.stop.hidden = ended;
    this.told = el("p", { class: "muted now" }, ended ? "Loading …" : "Waiting for the model …");
    this.segments = el("div", { class: "segments" });
    this.place.replaceChildren(
      askedHeading(id, question),
      el("div", { class: "working" }, this.told, this.stop),
      this.segments,
      this.drafting,
    );
    for await (const event of eventsOf(id, signal)) {
      if (signal.aborted) return;
      this.#take(event, kind, ended);
    }
  }

  // Clear the region, and stop following the run.
  clear() {
    this.following?.abort();
    this.following = new AbortController();
    [this.id, this.question, this.state] = [null, "", ""];
    this.events = [];
    this.notKept = "";
    this.place.replaceChildren();
  }

  // Say why there is no answer.
  fail(id, question, message, again = true) {
    replaceContent(
      this.place,
      askedHeading(id, question),
      el(
        "div",
        { class: "failure" },
        el("p", {}, message),
        again && button("Ask again", () => this.actions.onAgain({}, question), { class: "primary for-last" }),
      ),
    );
  }

  #take(event, asked, ended) {
    const { kind, data } = event;
    if (kind === "anew") {
      this.events = [];
      this.segments.replaceChildren();
      if (this.trace.chosen === this) this.trace.choose(this);
      return;
    }
    if (kind !== "draft_token") this.events.push(event);
    this.trace.take(this, event);
    if (ended && !["not_kept", "finished", "failed", "cancelled"].includes(kind)) return;
    switch (kind) {
      case "node_started":
        if ([...DRAFTING, "finish"].includes(data.node)) this.#setDraft("");
        this.#say(toldOf(kind, data));
        break;
      case "node_finished":
        // Show what was streamed, or the whole draft if the model did not stream.
        if (DRAFTING.includes(data.node)) this.#setDraft(draftOf(data.decided));
        if (data.decided.segments?.length) {
          this.#setDraft("");
          this.segments.append(...data.decided.segments.map(segment));
        }
        break;
      case "draft_token":
        this.#setDraft(this.draft.textContent + data.text);
        break;
      case "not_kept":
        this.notKept = data.message;
        break;
      case "finished":
        this.#finish(data.result, asked);
        break;
      case "failed":
      case "cancelled":
        this.#end(kind, () => {
          const message = data.message ?? STOPPED;
          this.fail(this.id, this.question, message, asked === "question");
          announce(message);
        });
        break;
      default:
        this.#say(toldOf(kind, data));
    }
  }

  #finish(result, asked) {
    this.#end("finished", () => {
      if (asked === "check") {
        showCheck(this.place, this.id, this.question, result);
        announce(`${result.claims.length} sentences are checked.`);
      } else {
        showAnswer(this.place, this.id, result, this.actions);
        if (this.notKept) this.place.append(el("div", { class: "failure" }, el("p", {}, this.notKept)));
        announce(`${shownOutcome(result.outcome).word}. ${result.answer} ${this.notKept}`);
      }
    });
  }

  #end(state, show) {
    this.state = state;
    show();
    this.actions.onEnd();
  }

  #setDraft(text) {
    this.draft.textContent = text;
    this.drafting.hidden = !text;
  }

  #say(text) {
    this.told.textContent = text;
    announce(text);
  }

  async #cancel(id) {
    this.stop.disabled = true;
    try {
      await request(`/api/runs/${encodeURIComponent(id)}`, { method: "DELETE" });
    } catch (error) {
      this.stop.disabled = false;
      this.#say(error.message);
    }
  }
}

export const STOPPED = "The question was stopped before it was answered.";

// Makes an accepted segment of a long answer, with its quotes folded.
function segment({ text, quotes }) {
  const cited = quotes.map(({ source, quote }) => el("p", { class: "muted" }, `“${quote}” ${source.split("/").pop()}`));
  return el("details", {}, el("summary", { dir: "auto" }, text), ...cited);
}

function draftOf(decided) {
  if (decided.stop) return "";
  return (decided.texts?.length > 1 ? decided.texts.join("\n\n") : decided.text) ?? "";
}
