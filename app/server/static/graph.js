// Draws the graph, and lights up what a run visits.

import { byId, counted, shortened, svg } from "./dom.js";
import { json } from "./server.js";
import { shownVerdict } from "./verdicts.js";

const CHECKS = ["hallucination_check", "answer_check"];
const LONGEST = 18; // characters of a decision that fit in a node

export class Graph {
  static async load() {
    return new Graph(await json("/api/graph"));
  }

  constructor(drawing) {
    this.nodes = new Map();
    this.edges = new Map();
    this.picture = svg("svg", { viewBox: drawing.view.join(" "), class: "graph", role: "img" });
    for (const edge of drawing.edges) this.#addEdge(edge);
    for (const node of drawing.nodes) this.#addNode(node);
    byId("graph").replaceChildren(this.picture);
    this.clear();
  }

  clear() {
    this.groups = [["__start__"]];
    this.order = [];
    for (const node of this.nodes.values()) {
      node.group.setAttribute("class", `node ${node.pill ? "pill" : ""}`);
      this.#say(node, "");
      node.times.textContent = "";
      node.title.textContent = node.purpose;
      node.visits = 0;
    }
    for (const group of this.edges.values()) group.classList.remove("taken");
    this.#describe();
  }

  start(name) {
    const node = this.nodes.get(name);
    if (!node) return;
    this.nodes.get("__start__").group.classList.add("visited");
    const group = this.groups.at(-1);
    // The two checks of a draft run side by side.
    if (CHECKS.includes(name) && group.length === 1 && CHECKS.includes(group[0]) && group[0] !== name) {
      group.push(name);
      this.#take(this.groups.at(-2), name);
    } else {
      this.groups.push([name]);
      this.#take(group, name);
    }
    node.group.classList.add("running");
    this.order.push(name);
    this.#describe();
  }

  finish({ node: name, summary, decided }) {
    const node = this.nodes.get(name);
    if (!node) return;
    const short = decided.stop ? "stopped" : inShort(name, decided, summary);
    node.visits += 1;
    node.group.classList.remove("running");
    node.group.classList.add("visited");
    node.group.classList.toggle("stopped", Boolean(decided.stop));
    this.#say(node, shortened(short, LONGEST));
    node.title.textContent = `${name}: ${summary}`;
    node.times.textContent = node.visits > 1 ? `×${node.visits}` : "";
    if (name === "finish") {
      this.nodes.get("__end__").group.classList.add("visited");
      this.#take(["finish"], "__end__");
    }
  }

  // Shows that no node runs any more: the run has ended, perhaps early.
  end() {
    for (const node of this.nodes.values()) node.group.classList.remove("running");
  }

  #take(sources, target) {
    for (const source of sources) {
      const edge = this.edges.get(`${source} ${target}`);
      if (!edge) continue;
      edge.classList.add("taken");
      this.picture.insertBefore(edge, this.nodes.get("__start__").group); // drawn above the edges that were not taken
    }
  }

  // Puts the name in the middle of its box, or higher once there is a decision below it.
  #say(node, text) {
    node.said.textContent = text;
    node.words.forEach((word, row) =>
      word.setAttribute("y", node.middle + 13 * (row - node.words.length / 2) + (text ? 4 : 10.5)),
    );
  }

  #describe() {
    const way = this.order.length ? `The way so far: ${this.order.join(", ")}.` : "Nothing is asked yet.";
    this.picture.setAttribute("aria-label", `The graph of Self-RAG. ${way}`);
  }

  #addEdge({ source, target, label, loop, line, tip }) {
    const group = svg(
      "g",
      { class: `edge ${loop ? "back" : ""}` },
      svg("path", { class: "line", d: line }, label && svg("title", {}, label)),
      svg("path", { class: "tip", d: tip }),
    );
    this.edges.set(`${source} ${target}`, group);
    this.picture.append(group);
  }

  #addNode({ name, purpose, left, top, width, height }) {
    const pill = name.startsWith("__");
    const middle = left + width / 2;
    const text = (said, kind) => svg("text", { x: middle, y: top + height - 7, class: kind }, said);
    const words = (pill ? [name.replaceAll("_", "")] : name.split("_")).map((word) => text(word, "name"));
    const said = text("", "said");
    const title = svg("title", {}, purpose);
    const times = svg("text", { x: left + width + 3, y: top + 9, class: "times" });
    const box = svg("rect", { x: left, y: top, width, height, rx: pill ? height / 2 : 8 });
    const group = svg("g", { "data-node": name }, title, box, ...words, said, times);
    this.nodes.set(name, { group, words, said, title, times, purpose, pill, middle: top + height / 2, visits: 0 });
    this.picture.append(group);
  }
}

// Says what a node decided in the few characters that fit; the list of steps says all of it.
function inShort(name, decided, summary) {
  switch (name) {
    case "contextualize":
      return decided.rewritten ? "rewritten" : decided.leans ? "joined" : "stands alone";
    case "retrieve":
      return counted(decided.retrieved, "passage");
    case "grade_documents":
      return `${decided.relevant} of ${decided.grades.length} relevant`;
    case "rewrite_query":
      return decided.name ?? summary;
    case "generate":
      return decided.declined
        ? "declines"
        : decided.redraft
          ? "redraft"
          : decided.drafts > 1
            ? `${decided.drafts} drafts`
            : "draft";
    case "direct_generate":
      return "draft";
    case "hallucination_check": {
      const signs = decided.claims.map((claim) => shownVerdict(claim.verdict.label).sign);
      const counts = [...new Set(signs)].map((sign) => `${sign} ${signs.filter((one) => one === sign).length}`);
      return counts.length > 1 ? counts.join("  ") : summary;
    }
    case "compare_answers":
      return decided.answers.length ? `${decided.answers.length} answers` : "they agree";
    case "finish":
      return decided.outcome.replaceAll("_", " ");
    default:
      return summary;
  }
}
