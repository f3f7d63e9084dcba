// Checks a text that somebody wrote against the documents, and shows it with each claim marked.

import { askedHeading, claimParts, evidence, exportBar, summaryOfClaims } from "./answer.js";
import { byId, counted, el, replaceContent, shortened, showProblem } from "./dom.js";
import { post, request } from "./server.js";

const LONGEST_NAME = 60;
const dialog = byId("check");

export function prepareChecks(onStarted) {
  byId("open-check").addEventListener("click", () => dialog.showModal());
  byId("check-form").addEventListener("submit", async (event) => {
    event.preventDefault();
    const send = byId("check-send");
    send.disabled = true;
    byId("check-problem").replaceChildren();
    try {
      const started = await start(byId("check-file").files[0], byId("check-text").value);
      dialog.close();
      byId("check-form").reset();
      onStarted(...started);
    } catch (error) {
      showProblem(byId("check-problem"), error);
    } finally {
      send.disabled = false;
    }
  });
}

async function start(file, text) {
  if (!file && !text.trim()) throw new Error("Write or paste a text, or choose a file.");
  if (!file) {
    const name = shortened(text.replace(/^[#\s]+/, ""), LONGEST_NAME);
    return [(await post("/api/checks", { text, name })).id, name];
  }
  const path = `/api/checks/${encodeURIComponent(file.name)}`;
  const headers = { "Content-Type": "application/octet-stream" };
  return [(await (await request(path, { method: "POST", body: file, headers })).json()).id, file.name];
}

export function showCheck(place, id, name, result) {
  const claims = result.claims.filter((claim) => claim.label !== "no claim");
  const told = `${counted(result.usage.model_calls, "model call")} · ${result.usage.seconds.toFixed(1)} s`;
  replaceContent(
    place,
    askedHeading(id, name),
    summaryOfClaims(claims) ?? el("p", {}, "The text makes no claim."),
    el("div", { class: "answer", dir: "auto" }, ...partsOf(id, result)),
    ...(result.citations.length ? [evidence(id, result)] : []),
    el("p", { class: "muted" }, told),
    exportBar(`/api/runs/${encodeURIComponent(id)}/export`, "claims"),
  );
}

function partsOf(id, { text, claims, citations }) {
  const points = [...text]; // offsets count code points; JavaScript counts some of them as two
  const parts = [];
  let position = 0;
  for (const claim of claims) {
    if (claim.label === "no claim") continue;
    parts.push(points.slice(position, claim.start).join(""), ...claimParts(id, claim, citations));
    position = claim.end;
  }
  return [...parts, points.slice(position).join("")];
}
