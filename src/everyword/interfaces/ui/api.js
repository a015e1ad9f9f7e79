// Client of the HTTP service: read, change and follow, with typed errors. The key is kept while the window is open.

const KEY = "everyword.key";
const FROM_PAGE = { "x-everyword-page": "1" };

export class Refused extends Error {
  constructor(problem, status) {
    super(problem.detail || problem.title || `The service answered ${status}.`);
    this.problem = problem;
    this.status = status;
  }
}

export const scope = { space: null, wing: null };

/** Return whether a header can hold the key: invisible characters may have been copied with it. */
export function sendable(key) {
  return /^[\x21-\x7e]+$/.test(key);
}

export function keep(key) {
  if (key) sessionStorage.setItem(KEY, key);
  else sessionStorage.removeItem(KEY);
}

const OF_THE_FILE = ["me", "spaces", "verify"]; // not bound to a space

/** Call an operation that only reads. */
export function read(operation, parameters = {}, signal) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries({ ...(OF_THE_FILE.includes(operation) ? {} : where()), ...parameters })) {
    if (value === null || value === undefined || value === "") continue;
    for (const one of Array.isArray(value) ? value : [value]) query.append(name, one);
  }
  const text = query.toString();
  return answer(fetch(`v1/${operation}${text ? `?${text}` : ""}`, { headers: headers(), signal }));
}

/** Call an operation that changes the memory. */
export function change(operation, parameters = {}) {
  const query = new URLSearchParams(where()).toString();
  const body = JSON.stringify(parameters);
  return answer(
    fetch(`v1/${operation}${query ? `?${query}` : ""}`, {
      method: "POST",
      headers: { ...headers(), "content-type": "application/json" },
      body,
    }),
  );
}

// Not "job": there may be thousands, and the counts of "jobs" suffice.
const FOLLOWED = ["event", "statement", "concept", "intent", "forgotten", "jobs"];

const AGAIN_MS = 2000; // before the stream is reopened

/** Follow the change stream; returns a function that stops. EventSource can't send headers, so fetch reads the stream.
 *  `onLine` gets whether the service answers. A reopened stream resumes at its position and misses nothing. */
export function follow(onNews, onLine) {
  const stopping = new AbortController();
  let position;
  const receive = (kind, one, id) => {
    position = id || position;
    onNews(kind, one);
  };
  const listen = async () => {
    while (!stopping.signal.aborted) {
      try {
        const query = new URLSearchParams(where());
        for (const kind of FOLLOWED) query.append("kinds", kind);
        const from = position ? { "last-event-id": position } : {};
        const response = await fetch(`v1/stream?${query}`, { headers: { ...headers(), ...from }, signal: stopping.signal });
        onLine(response.status < 500);
        const ended = response.ok ? await messages(response.body, receive) : await problem(response);
        if (ended?.status === 400 && position) position = undefined; // the service now serves another memory
        else if (ended && ended.status < 500 && ended.status !== 429) return void refusal(ended, ended.status); // the key no longer allows it
      } catch {
        if (!stopping.signal.aborted) onLine(false);
      }
      if (stopping.signal.aborted) return;
      await new Promise((later) => setTimeout(later, AGAIN_MS));
    }
  };
  listen();
  return () => stopping.abort();
}

/** Read messages to the end; returns the last one, which says why the stream ended. */
async function messages(body, onNews) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let held = "";
  let ended;
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return ended;
    held += value;
    const parts = held.split("\n\n");
    held = parts.pop();
    for (const part of parts) {
      const [id, kind, data] = ["id", "event", "data"].map((name) => part.match(new RegExp(`^${name}: (.*)$`, "m"))?.[1]);
      if (!kind || !data) continue;
      if (kind === "end") ended = JSON.parse(data);
      else onNews(kind, JSON.parse(data), id);
    }
  }
}

function where() {
  const chosen = {};
  if (scope.space) chosen.space = scope.space;
  if (scope.wing) chosen.wing = scope.wing;
  return chosen;
}

function headers() {
  const key = sessionStorage.getItem(KEY);
  return key && sendable(key) ? { ...FROM_PAGE, authorization: `Bearer ${key}` } : FROM_PAGE;
}

/** The error for a service that does not answer. */
export function gone() {
  return new Refused({ title: "The service does not answer.", detail: "", fix: "Is `everyword serve` still running?" }, 0);
}

async function answer(sent) {
  let response;
  try {
    response = await sent;
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw gone();
  }
  if (response.ok) return response.json().catch(nothing);
  throw refusal(await problem(response), response.status);
}

/** Take a body without JSON for nothing; a view that was left before the body came gets none. */
function nothing(error) {
  if (error.name === "AbortError") throw error;
  return {};
}

async function problem(response) {
  const body = await response.json().catch(() => ({}));
  return { ...body, status: response.status };
}

/** Make an error; a 401 also makes the page ask for a key. */
function refusal(body, status) {
  const refused = new Refused(body, status);
  if (status === 401) dispatchEvent(new CustomEvent("everyword-locked", { detail: refused }));
  return refused;
}

/** Send a file; `onSent` gets the share that was sent. fetch does not report this, so an older interface is used. */
export function upload(operation, file, parameters = {}, onSent = () => undefined) {
  const query = new URLSearchParams({ ...where(), ...parameters, name: file.name });
  const request = new XMLHttpRequest();
  request.open("POST", `v1/${operation}?${query}`);
  for (const [name, value] of Object.entries(headers())) request.setRequestHeader(name, value);
  request.setRequestHeader("content-type", "application/octet-stream");
  request.upload.onprogress = (event) => onSent(event.total ? event.loaded / event.total : 1);
  request.upload.onload = () => onSent(1);
  return new Promise((done, failed) => {
    request.onerror = () => failed(gone());
    request.onload = () => {
      let body = {};
      try {
        body = JSON.parse(request.responseText);
      } catch {
        // The status says enough.
      }
      if (request.status < 300) done(body);
      else failed(refusal({ ...body, status: request.status }, request.status));
    };
    request.send(file);
  });
}
