// Edits a text where it is shown: Enter sends it, Escape leaves it as it was.

import { button, el, showProblem } from "./dom.js";

// `onSave` gets the new text; what it throws is shown below the field. `onSaved` then moves the focus.
export function editInPlace(shown, { label, value, send, onSave, onSaved = () => {}, most = 8000 }) {
  if (shown.hidden) return shown.nextElementSibling.querySelector("textarea").focus();
  const from = document.activeElement;
  const field = el("textarea", { rows: "2", dir: "auto", maxlength: String(most), required: true });
  const sending = el("button", { type: "submit", class: "primary" }, send);
  const problem = el("div", { role: "alert" });
  field.value = value;

  function leave() {
    form.remove();
    shown.hidden = false;
    from?.focus();
  }

  async function save(event) {
    event.preventDefault();
    const text = field.value.trim();
    if (!text || sending.disabled) return;
    sending.disabled = true;
    problem.replaceChildren();
    try {
      await onSave(text);
      form.remove();
      shown.hidden = false;
      onSaved();
    } catch (error) {
      showProblem(problem, error);
    } finally {
      sending.disabled = false;
    }
  }

  const form = el(
    "form",
    { class: "edit", autocomplete: "off", onsubmit: save },
    el("label", {}, el("span", {}, label), field),
    el("div", { class: "buttons" }, sending, button("Cancel", leave, { class: "quiet" })),
    problem,
  );
  form.addEventListener("keydown", (event) => {
    if (event.isComposing) return;
    if (event.key === "Escape") leave();
    if (event.key !== "Enter" || event.shiftKey || event.target !== field) return;
    event.preventDefault();
    form.requestSubmit();
  });
  shown.hidden = true;
  shown.after(form);
  form.scrollIntoView({ block: "nearest" });
  field.focus({ preventScroll: true });
  field.select();
}
