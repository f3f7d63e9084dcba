// The addresses of the page: a thread, one question of it, a question by itself, and a quote of either.

const THREAD = /^#\/threads\/([\w-]+)(?:\/runs\/([\w-]+)(?:\/citations\/(\d+))?)?$/;
const RUN = /^#(?:\/runs\/|run=)([\w-]+)(?:\/citations\/(\d+))?$/;

// Returns what the address names; each field is null if it names none.
export function shownAddress() {
  const [, thread = null, asked = null, quote = null] = THREAD.exec(location.hash) ?? [];
  const [, run = asked, citation = quote] = RUN.exec(location.hash) ?? [];
  return { thread, run, citation: citation && Number(citation) };
}

export function threadAddress(thread) {
  return `/#/threads/${thread}`;
}

// Returns the address of a run, within the thread that is shown, if one is.
export function runAddress(run, thread = shownAddress().thread) {
  return thread ? `/#/threads/${thread}/runs/${run}` : `/#/runs/${run}`;
}
