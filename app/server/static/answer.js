// Shows the answer with each claim marked by its verdict or, without an answer, what was tried and what may help.

import { showAbstention } from "./abstention.js";
import { button, counted, el, fileName, placeOf, replaceContent, sectionOf, signOf } from "./dom.js";
import { feedbackBar } from "./feedback.js";
import { openPassage } from "./passage.js";
import { attachPeek } from "./peek.js";
import { download, objectUrl } from "./server.js";
import { shownOutcome, shownVerdict, sureness } from "./verdicts.js";

const FORMS = [
  ["markdown", "Markdown", "md"],
  ["json", "JSON", "json"],
  ["html", "Web page", "html"],
];

// `onCorrect` gets the line that says what a follow-up was taken to mean, and lets the reader correct it.
export function showAnswer(place, id, result, { onAgain, onCorrect }) {
  const { sign, kind, word } = shownOutcome(result.outcome);
  const badge = el("p", { class: `outcome ${kind}` }, signOf(sign), word);
  const answered = ["grounded", "partially_grounded", "direct"].includes(result.outcome);
  const parts = answered ? answerParts(id, result) : showAbstention(result, onAgain);
  replaceContent(
    place,
    askedHeading(id, result.question),
    understoodLine(result, onCorrect),
    badge,
    ...parts,
    costLine(id, result),
    feedbackBar(id),
    exportBar(`/api/runs/${encodeURIComponent(id)}/export`),
  );
}

export function askedHeading(id, question) {
  return el("h2", { class: "asked", id: `asked-${id}`, dir: "auto", tabindex: "-1" }, question);
}

// Shows what a follow-up was taken to mean, if that differs from its words.
export function understoodLine({ question, standalone }, onCorrect) {
  if (!standalone || standalone === question) return null;
  const line = el(
    "p",
    { class: "understood" },
    el("span", { class: "muted" }, "Understood as: "),
    el("span", { class: "meant", dir: "auto" }, standalone),
    onCorrect && " ",
    onCorrect &&
      button("Correct", () => onCorrect(line), {
        class: "link for-last",
        "aria-label": "Correct what the question was understood as",
      }),
  );
  return line;
}

function answerParts(id, result) {
  const [told, disagreement] = splitAnswer(result);
  return [
    ...answerText(id, told, result),
    summaryOfClaims(result.claims),
    result.conflicts.length ? conflicts(id, result, disagreement) : null,
    result.citations.length ? evidence(id, result) : null,
  ].filter(Boolean);
}

// Splits off the last paragraph, which lists the documents' different answers: they are shown from the result.
function splitAnswer({ answer, conflicts: differing }) {
  const end = differing.length ? answer.lastIndexOf("\n\n") : -1;
  return end < 0 ? [answer, ""] : [answer.slice(0, end), answer.slice(end + 2)];
}

// The claims of a comparison are cells of its table, in order; those of a table that a model drew are whole rows.
function answerText(id, answer, result) {
  const lines = answer.split("\n");
  const length = [...lines, ""].findIndex((line) => !line.startsWith("| "));
  const cellsOf = (line) => line.slice(2, -2).split(" | ");
  const rows = lines.slice(2, length).map(cellsOf);
  const claims = [...result.claims];
  if (!lines[1]?.startsWith("| ---") || !claims.every(({ text }) => rows.flat().includes(text)))
    return [el("div", { class: "answer", dir: "auto" }, ...claimsIn(id, answer, result))];
  const cell = (text) => (claims[0]?.text === text ? claimParts(id, claims.shift(), result.citations) : [text]);
  const row = ([point, ...texts]) =>
    el("tr", {}, el("th", { scope: "row" }, point), ...texts.map((text) => el("td", { dir: "auto" }, ...cell(text))));
  const head = cellsOf(lines[0]).map((name) => el(name.trim() ? "th" : "td", { scope: name.trim() ? "col" : null }, name));
  const rest = lines.slice(length).join("\n").trim();
  return [
    el("div", { class: "answer compared" }, el("table", {}, el("tr", {}, ...head), ...rows.map(row))),
    rest ? el("div", { class: "answer", dir: "auto" }, rest) : null,
  ];
}

function claimsIn(id, answer, { claims, citations }) {
  const parts = [];
  let position = 0;
  for (const claim of claims) {
    const begin = answer.indexOf(claim.text, position);
    if (begin < 0) continue;
    parts.push(answer.slice(position, begin), ...claimParts(id, claim, citations));
    position = begin + claim.text.length;
  }
  return [...parts, answer.slice(position)];
}

export function claimParts(id, claim, citations) {
  const { sign, kind, word } = shownVerdict(claim.label);
  const sure = sureness(claim);
  const cited = citations.filter((one) => claim.citations.includes(one.id));
  const text = el("span", { class: `claim ${kind}` }, claim.text);
  const verdict = word + (sure === null ? "" : `, probability ${sure.toFixed(2)}`);
  const buttons = (cited.length ? cited : [null]).map((citation) =>
    el(
      "button",
      {
        type: "button",
        class: `cite ${kind}`,
        "aria-label": citation ? `${verdict}. Quote ${citation.id}, ${placeOf(citation)}` : verdict,
        "aria-haspopup": citation ? "dialog" : null,
      },
      signOf(sign),
      citation ? String(citation.id) : "",
    ),
  );
  const open = (citation) => citation && openPassage(id, citation.id);
  attachPeek(text, claim, cited, open, () => open(cited[0]));
  buttons.forEach((one, index) =>
    attachPeek(one, claim, cited.slice(index, index + 1), open, () => open(cited[index])),
  );
  return [text, el("span", { class: "cites" }, "\u2060", ...buttons)];
}

export function summaryOfClaims(claims) {
  if (!claims.length) return null;
  const counts = new Map();
  for (const claim of claims) counts.set(claim.label, (counts.get(claim.label) ?? 0) + 1);
  const told = [...counts].map(([label, count]) => {
    const { sign, kind, word } = shownVerdict(label);
    return el("span", { class: `verdict ${kind}` }, signOf(sign), `${word}: ${count}`);
  });
  return el("p", { class: "tally", "aria-label": "Claims by verdict" }, `${counted(claims.length, "claim")} `, ...told);
}

function conflicts(id, result, disagreement) {
  const cited = new Map(result.citations.map((citation) => [citation.id, citation]));
  const rows = result.conflicts.map((conflict) =>
    el(
      "li",
      {},
      el("p", { class: "says", dir: "auto" }, conflict.answer),
      ...conflict.citations.map((number) => sourceButton(id, cited.get(number))),
    ),
  );
  const title = disagreement.split("\n")[0].replace(/[:：]$/, "") || "The documents disagree";
  return el(
    "div",
    { class: "conflicts", role: "group", "aria-labelledby": `conflicts-${id}` },
    el("h3", { id: `conflicts-${id}`, dir: "auto" }, signOf("≠"), title),
    el("ul", {}, ...rows),
  );
}

function sourceButton(id, citation) {
  const told = placeOf(citation) + (citation.date ? `, ${citation.date}` : "");
  const label = `Quote ${citation.id}: ${told}`;
  return button(`${citation.id} · ${told}`, () => openPassage(id, citation.id), {
    class: "source",
    "aria-label": label,
  });
}

export function evidence(id, { citations }) {
  const items = citations.map((citation) =>
    el(
      "li",
      { value: citation.id },
      el("blockquote", { dir: "auto" }, citation.quote),
      el(
        "p",
        { class: "from" },
        el("span", { class: "file" }, placeOf(citation)),
        sectionOf(citation) && el("span", { class: "muted" }, sectionOf(citation)),
        citation.date && el("span", { class: "muted" }, citation.date),
        button("Open in its document", () => openPassage(id, citation.id), {
          class: "link",
          "aria-label": `Open quote ${citation.id} in ${fileName(citation.source)}`,
        }),
      ),
    ),
  );
  return el(
    "div",
    { class: "evidence" },
    el("h3", {}, "Evidence"),
    el("ol", {}, ...items),
  );
}

function costLine(id, result) {
  const { usage, path } = result;
  const number = (count) => count.toLocaleString("en");
  const cached = usage.cached_input_tokens ? ` (${number(usage.cached_input_tokens)} from the cache)` : "";
  const told = [
    `${result.outcome ?? "stopped"} (${result.stop_reason})`,
    counted(usage.model_calls, "model call"),
    `${usage.estimated ? "about " : ""}${number(usage.input_tokens)} tokens read${cached}, ${number(usage.output_tokens)} written`,
    `${usage.seconds.toFixed(1)} s`,
  ].join(" · ");
  const place = el("div", { class: "picture" });
  const details = el(
    "details",
    { class: "cost" },
    el("summary", {}, el("span", {}, told), el("span", { class: "way" }, path.map((step) => step.node).join(" → "))),
    place,
    el("p", { class: "muted" }, `Answered by ${result.stamp.chat_model}, judged by ${result.stamp.critic_model}.`),
  );
  details.addEventListener("toggle", async () => {
    if (!details.open || place.childElementCount) return;
    try {
      const src = await objectUrl(`/api/runs/${encodeURIComponent(id)}/picture.svg`);
      const alt = `The way of this run through the graph: ${path.map((step) => step.node).join(", ")}`;
      const picture = el("img", { src, alt });
      place.replaceChildren(
        el("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "The drawn run" }, picture),
      );
    } catch (error) {
      place.replaceChildren(el("p", { class: "failure" }, error.message));
    }
  });
  return details;
}

export function exportBar(path, name = "answer") {
  const problem = el("span", { role: "alert" });
  const buttons = FORMS.map(([form, told, suffix]) =>
    button(
      told,
      async () => {
        problem.textContent = "";
        try {
          await download(`${path}?format=${form}`, `${name}.${suffix}`);
        } catch (error) {
          problem.textContent = error.message;
        }
      },
      { class: "link", "aria-label": `Save the ${name} as ${told}` },
    ),
  );
  return el("p", { class: "export" }, el("span", { class: "muted" }, "Save with its evidence:"), ...buttons, problem);
}
