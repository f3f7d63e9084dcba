// Shows at the side the graph and the steps of the run that is chosen.

import { byId } from "./dom.js";
import { DOING, Steps } from "./steps.js";

const IDLE = "Each question takes a way through this graph; every decision is shown here.";

export class Trace {
  constructor() {
    this.graph = null;
    this.steps = new Steps();
    this.chosen = null;
  }

  // Show a run from its first event on.
  choose(run) {
    this.chosen = run;
    this.graph?.clear();
    this.steps.clear();
    byId("traced").textContent = run?.question ?? "";
    byId("doing").textContent = IDLE;
    for (const event of run?.events ?? []) this.#draw(event);
  }

  take(run, event) {
    if (run === this.chosen) this.#draw(event);
  }

  #draw({ kind, data }) {
    const told = toldOf(kind, data);
    if (told) byId("doing").textContent = told;
    if (kind === "node_started") {
      this.graph?.start(data.node);
      this.steps.start(data.node);
    } else if (kind === "node_finished") {
      this.graph?.finish(data);
      this.steps.finish(data);
    } else if (["finished", "failed", "cancelled"].includes(kind)) {
      this.graph?.end();
      this.steps.end();
    }
  }
}

// Says in a few words what happens at an event; returns nothing for an event that needs none.
export function toldOf(kind, data) {
  switch (kind) {
    case "queued":
      return "Waiting until other questions are answered …";
    case "running":
      return "Beginning …";
    case "cut":
      return "The connection was lost: trying again …";
    case "node_started":
      return `${DOING[data.node] ?? data.node} …`;
    case "claim_checked":
      return `${data.done} of ${data.total} sentences are checked …`;
    case "finished":
      return data.result.path
        ? "Done. Each step below unfolds into its verdicts, with their probabilities."
        : "Done. A claim shows its quote; a click opens it in its document.";
    case "failed":
    case "cancelled":
      return "The run ended early.";
    default:
      return "";
  }
}
