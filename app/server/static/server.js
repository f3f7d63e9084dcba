// Calls the server, with a token if it wants one, and follows the events of a run even if the connection is lost.

import { byId } from "./dom.js";

const TOKEN = "self-rag-token";
const ENDS = new Set(["finished", "failed", "cancelled"]);
const MOST_FAILURES = 10;
let opened = null;

// An error as a sentence for people. It has no status if the server was not reached.
export class Failure extends Error {
  constructor(message, status = 0) {
    super(message);
    this.status = status;
  }
}

export async function request(path, options = {}) {
  for (;;) {
    const token = sessionStorage.getItem(TOKEN);
    const headers = new Headers(options.headers);
    if (token) headers.set("Authorization", `Bearer ${asBytes(token)}`);
    let response;
    try {
      response = await fetch(path, { ...options, headers });
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new Failure("The server cannot be reached: see whether it still runs, and try again.");
    }
    if (response.status === 401) await askForToken(token);
    else if (response.ok) return response;
    else throw new Failure(await saidBy(response), response.status);
  }
}

export async function json(path, options) {
  return (await request(path, options)).json();
}

export async function post(path, body) {
  return json(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
}

// Yields {kind, data} for each event of a run, from the first to the last, each once. Yields {kind: "cut"} when the
// connection is lost, and {kind: "anew"} before all events come again, as a server that was restarted numbers them
// anew.
export async function* eventsOf(id, signal) {
  let last = 0;
  let failures = 0;
  let gone = false;
  for (;;) {
    try {
      const path = `/api/runs/${encodeURIComponent(id)}/events`;
      const response = await request(path, { headers: { "Last-Event-ID": String(gone ? 0 : last) }, signal });
      gone = false;
      for await (const event of parsed(response.body)) {
        if (event.number <= last) yield { kind: "anew" };
        last = event.number;
        failures = 0;
        yield event;
        if (ENDS.has(event.kind)) return;
      }
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof Failure && error.status >= 400 && error.status < 500) throw error;
      gone ||= error instanceof Failure; // perhaps from a proxy
    }
    if (++failures > MOST_FAILURES) throw new Failure("The server cannot be reached: load this page again later.");
    yield { kind: "cut" };
    await new Promise((resolve) => setTimeout(resolve, Math.min(250 * 2 ** failures, 8000)));
  }
}

async function* parsed(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      const blocks = (rest + value).split("\n\n");
      rest = blocks.pop();
      for (const block of blocks) {
        const event = { kind: "", number: 0, data: null };
        for (const line of block.split("\n")) {
          if (line.startsWith("event: ")) event.kind = line.slice(7);
          else if (line.startsWith("id: ")) event.number = Number(line.slice(4));
          else if (line.startsWith("data: ")) event.data = JSON.parse(line.slice(6));
        }
        if (event.kind) yield event;
      }
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

// Returns a local address for an image or a download that needs a request with the token.
export async function objectUrl(path) {
  return URL.createObjectURL(await (await request(path)).blob());
}

export async function download(path, name) {
  const url = await objectUrl(path);
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

async function saidBy(response) {
  try {
    return (await response.json()).error.message;
  } catch {
    return `The server answered with ${response.status}: try again, or look at its log.`;
  }
}

// A header holds bytes, which fetch takes as characters up to 255.
function asBytes(token) {
  return String.fromCharCode(...new TextEncoder().encode(token));
}

function askForToken(refused) {
  if (refused !== null && refused === sessionStorage.getItem(TOKEN)) {
    sessionStorage.removeItem(TOKEN);
    byId("access-told").textContent = "The token was not accepted: look whether it is whole.";
  }
  opened ??= new Promise((resolve) => {
    const dialog = byId("access");
    // A browser closes the dialog at a second Escape even if the page prevents it.
    dialog.onclose = () => opened && dialog.showModal();
    byId("access-form").addEventListener(
      "submit",
      () => {
        sessionStorage.setItem(TOKEN, byId("token").value.trim());
        byId("token").value = "";
        opened = null;
        resolve();
      },
      { once: true },
    );
    dialog.showModal();
  });
  return opened;
}
