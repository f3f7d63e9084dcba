// Shows a thread: its questions one below another, new ones as they are asked, and changes made elsewhere.

import { threadAddress } from "./address.js";
import { button, byId, counted, el, showProblem } from "./dom.js";
import { json, post, request } from "./server.js";
import { TurnView } from "./turn.js";

const MOST_SHOWN = 20; // turns, until more are wanted
const LOOK_AGAIN = 3000; // milliseconds, while a turn is answered elsewhere

export class ThreadView {
  // `actions`: ask(question, given, turn) asks as the form does, given() returns the options of a question, onBegun(id)
  // shows a new thread, onChange() updates the list of threads, onGone() is called if the thread was deleted.
  constructor(trace, actions) {
    [this.trace, this.actions] = [trace, actions];
    this.place = byId("turns");
    [this.loads, this.shown] = [0, 0]; // numbers of the last request for the thread, and of the one that is shown
    this.clear();
  }

  // Show a thread, and open one of its turns if it is named.
  async show(id, run = null) {
    const new_ = id !== this.id;
    if (new_) {
      this.clear();
      this.id = id;
      await this.#load();
      if (this.id !== id) return;
    }
    if (!new_ && !run) return;
    const turn = run ? await this.#find(run) : this.#last;
    const there = !new_ && turn?.isOpen;
    if (run) turn?.open();
    if (turn && !there && !document.querySelector("dialog[open]")) turn.focus();
  }

  // Show what has changed meanwhile, here or elsewhere.
  async refresh() {
    const { id } = this;
    if (!id) return;
    try {
      await this.#load();
    } catch (error) {
      if (this.id !== id || error.status !== 404) return; // keep what is shown
      this.clear();
      this.actions.onGone();
      showProblem(byId("problem"), error);
    }
  }

  // Ask in this thread, or in a new one. With a `turn`, the last one, the question replaces it.
  async ask(question, given = {}, turn = null) {
    const asked = { question, ...this.actions.given(), ...given };
    const from = this.id;
    const id = from ?? (await post("/api/threads", {})).id;
    try {
      await post(`/api/threads/${id}/runs`, { ...asked, ...(turn?.last ? { replaces: turn.turn.run } : {}) });
    } catch (error) {
      if (from) await this.refresh();
      else await request(`/api/threads/${id}`, { method: "DELETE" }).catch(() => {});
      this.actions.onChange();
      throw error;
    }
    if (this.id !== from) return this.actions.onChange(); // another thread is shown by now
    if (location.hash !== threadAddress(id).slice(1)) history.pushState(null, "", threadAddress(id));
    if (this.id) {
      await this.#load();
      this.#last?.focus();
    } else await this.actions.onBegun(id);
    this.actions.onChange();
  }

  clear() {
    clearTimeout(this.timer);
    for (const turn of this.turns?.values() ?? []) turn.remove();
    [this.id, this.chosen, this.turns, this.most] = [null, null, new Map(), MOST_SHOWN];
    this.place.replaceChildren();
    this.trace.choose(null);
    byId("thread").hidden = true;
  }

  get #last() {
    return [...this.turns.values()].at(-1);
  }

  async #load() {
    const { id } = this;
    const number = ++this.loads;
    const thread = await json(`/api/threads/${encodeURIComponent(id)}`);
    if (this.id !== id || number < this.shown) return; // another thread, or a later reply, is shown by now
    this.shown = number;
    this.#draw(thread);
    clearTimeout(this.timer);
    if (thread.turns.some((turn) => turn.state === "unfinished"))
      this.timer = setTimeout(() => this.refresh(), LOOK_AGAIN);
  }

  #draw({ title, turns }) {
    byId("thread").hidden = false;
    byId("thread-title").textContent = title;
    // Hide a title that only repeats the first question.
    const same = turns[0]?.question.replace(/\s+/g, " ").startsWith(title.replace(/…$/, ""));
    byId("thread-title").classList.toggle("unseen", Boolean(same));
    document.title = `${title || "Thread"} · Self-RAG`;
    const first = Math.max(0, turns.length - this.most);
    const shown = turns.slice(first);
    this.turns = new Map(shown.map((turn) => [turn.run, this.turns.get(turn.run) ?? this.#made(turn)]));
    const articles = [...this.turns.values()].map(({ article }) => article);
    const focused = document.activeElement;
    if (articles.some((article) => !article.isConnected))
      this.place.replaceChildren(...(first ? [this.#earlier(first)] : []), ...articles);
    if (this.place.contains(focused)) focused.focus({ preventScroll: true });
    for (const turn of shown) this.turns.get(turn.run).update(turn, turn === turns.at(-1));
  }

  #made(turn) {
    return new TurnView(turn, this.trace, {
      ask: (question, given, one) => this.ask(question, given, one),
      askAgain: this.actions.ask,
      onChosen: (one) => this.#choose(one),
      onEnd: () => {
        this.refresh();
        this.actions.onChange();
      },
    });
  }

  #choose(turn) {
    this.chosen = turn;
    this.trace.choose(turn.view);
    for (const one of this.turns.values()) one.mark(one === turn);
  }

  #earlier(count) {
    const show = async () => {
      this.most = Infinity;
      await this.refresh();
      this.place.querySelector(".asked")?.focus();
    };
    const told = `Show ${counted(count, "earlier question")}`;
    return el("p", { class: "earlier" }, button(told, show, { class: "quiet" }));
  }

  async #find(run) {
    if (!this.turns.has(run) && this.most !== Infinity) {
      this.most = Infinity;
      await this.#load();
    }
    return this.turns.get(run) ?? this.#last;
  }
}
