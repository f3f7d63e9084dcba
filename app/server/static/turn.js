// Shows a question of a thread, folded to the answer's text or open with its evidence; the last can be corrected.

import { askedHeading, understoodLine } from "./answer.js";
import { button, byId, el, replaceContent, signOf } from "./dom.js";
import { editInPlace } from "./edit.js";
import { RunView, STOPPED } from "./run.js";
import { shownOutcome } from "./verdicts.js";

const GOING = ["queued", "running"];
const CUT_OFF = "Not answered yet: it was cut off, or is being answered by another program.";

export class TurnView {
  // `actions`: ask(question, given, turn), askAgain (the same, but it shows errors itself), onChosen(turn), onEnd().
  constructor(turn, trace, actions) {
    this.actions = actions;
    this.place = el("div");
    this.view = new RunView(this.place, trace, {
      onEnd: () => {
        this.#tellFoot();
        actions.onEnd();
      },
      onAgain: (options, question) => actions.askAgain(question, { ...this.#written(), ...options }, this),
      onCorrect: (line) => this.#correct(line),
    });
    this.unfold = button("", () => this.#toggle(), { class: "link" });
    this.follow = button("How it was answered", () => this.#trace(), { class: "link" });
    this.edit = button("Edit the question", () => this.#edit(), { class: "link" });
    this.foot = el("div", { class: "foot" }, this.unfold, this.follow, this.edit);
    this.content = el("div", {}, this.place, this.foot);
    this.article = el("article", { class: "turn", "aria-labelledby": `asked-${turn.run}` }, this.content);
    this.drawn = null;
  }

  // Show the turn as the server has it now.
  update(turn, last) {
    const replaced = turn.replaced && !this.turn?.replaced;
    if (this.last && !last) this.article.classList.add("folded");
    [this.turn, this.last] = [turn, last];
    this.article.classList.toggle("last", last);
    if (replaced) this.#fold();
    const followed = this.view.id && (this.view.state === "running" || this.view.state === turn.state);
    if (!followed && this.drawn !== turn.state) this.#draw(last && !turn.replaced);
    this.#tellFoot();
  }

  // Show the turn with its evidence, and its path through the graph.
  async open() {
    if (this.article.firstElementChild !== this.content) this.article.firstElementChild.open = true;
    this.article.classList.remove("folded");
    const { run, question, state } = this.turn;
    if (!this.view.id && (state === "finished" || GOING.includes(state))) await this.#show(run, question);
    else this.actions.onChosen(this);
    this.#tellFoot();
  }

  get isOpen() {
    return this.view.id !== null && !this.article.classList.contains("folded");
  }

  focus() {
    this.place.querySelector(".asked")?.focus({ preventScroll: true });
    this.article.scrollIntoView({ block: "start" });
  }

  remove() {
    this.view.clear();
    this.article.remove();
  }

  // The steps of the chosen run are shown at the side.
  mark(chosen) {
    this.chosen = chosen;
    this.#tellFoot();
  }

  #draw(open) {
    const { run, question, state, message } = this.turn;
    this.drawn = state;
    if (open || GOING.includes(state)) this.open();
    else if (state === "finished") this.#summarise();
    if (state === "failed") this.view.fail(run, question, message ?? "The question failed.");
    if (state === "cancelled") this.view.fail(run, question, STOPPED);
    if (state === "unfinished") this.view.fail(run, question, CUT_OFF);
  }

  async #show(run, question) {
    const shown = this.view.show(run, question, "question", this.turn.state === "finished");
    this.actions.onChosen(this);
    try {
      await shown;
    } catch (error) {
      this.view.clear();
      this.view.fail(run, question, error.message);
      this.actions.onEnd();
    }
  }

  #summarise() {
    const { run, question, outcome, answer } = this.turn;
    const { sign, kind, word } = shownOutcome(outcome);
    this.article.classList.add("folded");
    replaceContent(
      this.place,
      askedHeading(run, question),
      understoodLine(this.turn),
      el("p", { class: `outcome ${kind}` }, signOf(sign), word),
      el("p", { class: "answer", dir: "auto" }, answer),
    );
  }

  // Folds a turn that was corrected into one line.
  #fold() {
    const told = el("summary", {}, "Asked before: ", el("span", { dir: "auto" }, this.turn.question));
    this.article.replaceChildren(el("details", { class: "replaced" }, told, this.content));
    this.article.classList.add("folded");
  }

  #toggle() {
    if (this.article.classList.contains("folded")) this.open();
    else this.article.classList.add("folded");
    this.#tellFoot();
  }

  #trace() {
    this.actions.onChosen(this);
    byId("run-title").focus({ preventScroll: true });
    byId("run").scrollIntoView({ block: "nearest" });
  }

  #tellFoot() {
    const folded = this.article.classList.contains("folded");
    const ended = this.view.state !== "running";
    this.article.classList.toggle("answering", !ended);
    this.unfold.hidden = !ended || this.turn.state !== "finished" || (this.last && !folded);
    this.unfold.textContent = folded ? "Show the evidence" : "Hide the evidence";
    this.unfold.setAttribute("aria-expanded", String(!folded));
    this.follow.hidden = folded || this.chosen || !this.view.id;
    this.edit.hidden = !ended || !this.last;
  }

  // Returns what a person or the model wrote that the question means, which is kept when it is asked again.
  #written() {
    const { state, standalone } = this.turn;
    const rewritten = this.view.events.some(({ kind, data }) => kind === "node_finished" && data.decided.rewritten);
    return standalone && (state !== "finished" || rewritten) ? { standalone } : {};
  }

  #edit() {
    editInPlace(this.place.querySelector(".asked"), {
      label: "Your question",
      value: this.turn.question,
      send: "Ask again",
      onSave: (question) => this.actions.ask(question, {}, this),
    });
  }

  #correct(line) {
    editInPlace(line, {
      label: "What the question means by itself",
      value: line.querySelector(".meant").textContent,
      send: "Ask again",
      onSave: (standalone) => this.actions.ask(this.turn.question, { standalone }, this),
    });
  }
}
