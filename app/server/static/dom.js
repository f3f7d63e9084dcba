// Makes elements. Every text is a text node: nothing that a model, a document or a file's name says becomes markup.

const SVG = "http://www.w3.org/2000/svg";

function fill(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

export function el(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

export function svg(name, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, name), attributes, children);
}

export function byId(id) {
  return document.getElementById(id);
}

// Makes a button that does something here, and does not send a form.
export function button(text, onclick, attributes = {}) {
  return el("button", { type: "button", onclick, ...attributes }, text);
}

// Makes a sign beside a word that says the same.
export function signOf(sign) {
  return el("span", { class: "sign", "aria-hidden": "true" }, sign);
}

export function announce(text) {
  byId("status").textContent = text;
}

// Replaces what a region shows; the focus, if it is in the region, moves to the heading.
export function replaceContent(region, ...parts) {
  const focused = region.contains(document.activeElement);
  region.replaceChildren(...parts.filter(Boolean));
  if (focused) region.querySelector("[tabindex='-1']")?.focus();
}

export function showProblem(place, error) {
  place.replaceChildren(el("p", { class: "failure" }, error.message));
}

export function fileName(source) {
  return (source ?? "").split(/[\\/]/).pop() || "a passage";
}

// Names a place as the command line does: the file, and the page or row.
export function placeOf({ source, page, row }) {
  return fileName(source) + (page ? ` p. ${page}` : row ? ` row ${row}` : "");
}

export function sectionOf({ title, heading }) {
  return [title, heading].filter(Boolean).join(" > ");
}

// Names the place and the section, as `core.passages.place_of` does.
export function fullPlaceOf(passage) {
  return [placeOf(passage), sectionOf(passage)].filter(Boolean).join(" · ");
}

export function counted(count, one, many = `${one}s`) {
  return `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
}

export function shortened(text, most) {
  const line = [...text.replace(/\s+/g, " ").trim()]; // code points: JavaScript counts some characters as two
  return line.length <= most ? line.join("") : `${line.slice(0, most - 1).join("")}…`;
}
