// Shows a quote in its document: on the page of a PDF if its place is known, and in the text around it.

import { runAddress } from "./address.js";
import { byId, el, placeOf, showProblem, svg } from "./dom.js";
import { json, objectUrl } from "./server.js";

let run = null;
let number = 0;
let pictured = null;

const dialog = byId("passage");
const back = byId("passage-before");
const on = byId("passage-after");

export function openPassage(id, citation) {
  location.hash = `${runAddress(id).slice(1)}/citations/${citation}`;
}

// Opens a quote when the address names its citation, so that links to quotes work.
export async function showPassage(id, citation) {
  [run, number] = [id, citation];
  const body = byId("passage-body");
  body.replaceChildren(el("p", { class: "muted" }, "Opening …"));
  byId("passage-title").textContent = `Quote ${citation}`;
  if (!dialog.open) dialog.showModal();
  byId("passage-title").focus();
  back.hidden = number <= 1;
  on.hidden = true;
  try {
    const found = await json(`/api/runs/${encodeURIComponent(id)}/citations/${citation}`);
    // If the page cannot be shown, as the file may have changed since it was indexed, show the text.
    const picture = found.page_image && found.rectangles?.length ? await pageOf(found).catch(() => null) : null;
    if (run !== id || number !== citation) return;
    on.hidden = number >= found.citations;
    byId("passage-title").textContent = `Quote ${citation} · ${found.place ?? placeOf(found)}`;
    body.replaceChildren(
      el("p", { class: "from" }, [found.section, found.date].filter(Boolean).join(" · ")),
      ...(picture ? [picture] : []),
      textOf(found, Boolean(picture)),
    );
    (picture ?? body).querySelector("mark, .region")?.scrollIntoView({ block: "center" });
  } catch (error) {
    showProblem(body, error);
  }
}

export function closePassage() {
  if (dialog.open) dialog.close();
}

function textOf({ before, quote, after, source }, folded) {
  const text = el("blockquote", { class: "around", dir: "auto" }, before, el("mark", {}, quote), after);
  const parts = [text, el("p", { class: "muted path", dir: "auto" }, source)];
  return folded ? el("details", {}, el("summary", {}, "The passage as text"), ...parts) : el("div", {}, ...parts);
}

async function pageOf({ page_image: path, rectangles, width, height, page, quote }) {
  if (pictured) URL.revokeObjectURL(pictured);
  pictured = await objectUrl(path);
  const regions = rectangles.map(([left, top, right, bottom]) =>
    svg("rect", { class: "region", x: left, y: top, width: right - left, height: bottom - top }),
  );
  const overlay = svg("svg", { viewBox: "0 0 1 1", preserveAspectRatio: "none", "aria-hidden": "true" }, ...regions);
  const image = el("img", {
    src: pictured,
    alt: `Page ${page} with the quote marked: ${quote}`,
    width: Math.round(width),
    height: Math.round(height),
  });
  return el(
    "div",
    { class: "scroll", tabindex: "0", role: "group", "aria-label": "The page" },
    el("div", { class: "sheet" }, image, overlay),
  );
}

dialog.addEventListener("close", () => {
  if (location.hash.includes("/citations/")) history.pushState(null, "", runAddress(run));
});
back.addEventListener("click", () => openPassage(run, number - 1));
on.addEventListener("click", () => openPassage(run, number + 1));
