// Shows beside a claim, on hover, focus or tap, its verdict and its quotes with their places.

import { button, byId, el, fullPlaceOf, shortened } from "./dom.js";
import { verdictLine } from "./verdicts.js";

const SHOW_AFTER = 120; // milliseconds
const HIDE_AFTER = 250; // milliseconds, in which the pointer can reach what is shown
const LONGEST = 500; // characters of a quote
const GAP = 8; // pixels

let shown = null;
let anchor = null;
let timer = 0;

// `click` is called on a mouse click or a key; a first tap only shows the verdict.
export function attachPeek(target, claim, citations, open, click) {
  let touched = false;
  const show = () => peek(target, claim, citations, open);
  target.addEventListener("pointerenter", (event) => event.pointerType === "mouse" && later(show, SHOW_AFTER));
  target.addEventListener("pointerleave", (event) => event.pointerType === "mouse" && later(hide, HIDE_AFTER));
  target.addEventListener("pointerdown", (event) => (touched = event.pointerType === "touch"));
  target.addEventListener("focus", () => !touched && later(show, 0));
  target.addEventListener("blur", () => later(hide, HIDE_AFTER));
  target.addEventListener("click", () => {
    if (touched) later(show, 0);
    else if (!String(getSelection())) {
      hide();
      click();
    }
    touched = false;
  });
}

export function hide() {
  clearTimeout(timer);
  shown?.remove();
  anchor?.removeAttribute("aria-describedby");
  shown = anchor = null;
}

function later(action, after) {
  clearTimeout(timer);
  timer = setTimeout(action, after);
}

function peek(target, claim, citations, open) {
  hide();
  const quotes = citations.map((citation) =>
    el(
      "div",
      { class: "quoted" },
      el("blockquote", { dir: "auto" }, shortened(citation.quote, LONGEST)),
      el("p", { class: "from" }, fullPlaceOf(citation)),
      button(
        "Open in its document",
        () => {
          hide();
          open(citation);
        },
        { class: "link", tabindex: "-1" },
      ),
    ),
  );
  const none = quotes.length ? null : el("p", { class: "muted" }, "No passage carries this claim.");
  shown = el("div", { class: "peek", id: "peek" }, verdictLine(claim), none, ...quotes);
  shown.addEventListener("pointerenter", () => clearTimeout(timer));
  shown.addEventListener("pointerleave", () => later(hide, HIDE_AFTER));
  byId("main").append(shown);
  anchor = target;
  if (target.tagName === "BUTTON") target.setAttribute("aria-describedby", "peek");
  place(target);
}

function place(target) {
  const lines = target.getClientRects();
  const box = lines[lines.length - 1] ?? target.getBoundingClientRect();
  const room = document.documentElement.clientWidth;
  const left = Math.max(GAP, Math.min(box.left, room - shown.offsetWidth - GAP));
  const below = box.bottom + GAP;
  const above = lines[0].top - shown.offsetHeight - GAP;
  const top = below + shown.offsetHeight > innerHeight && above > 0 ? above : below;
  shown.style.left = `${left + scrollX}px`;
  shown.style.top = `${top + scrollY}px`;
}

document.addEventListener("keydown", (event) => event.key === "Escape" && hide());
document.addEventListener("pointerdown", (event) => {
  if (shown && !shown.contains(event.target) && event.target !== anchor) hide();
});
