// Components shared by the views. Text is always inserted as text, never as HTML.

import { Component, html, useEffect, useLayoutEffect, useMemo, useRef, useState } from "./vendor/preact-htm.js";
import { read, scope } from "./api.js";

export { html };

const DAY = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", year: "numeric" });
const MOMENT = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit" });
const LONG = 700; // characters of an event that are shown before "more"
const MORE = 50_000; // added on either side per click: a browser freezes on a million
const MOST_LISTED = 1000; // entries per page of the service
const SEARCH_PAUSE_MS = 250; // after the last key
const CHUNK = 50; // rows
const CHUNK_MARGIN = "2000px"; // from the window
const MOST_LEFT = 50; // lists whose scroll positions are kept

export const day = (iso) => written(DAY, iso);
export const moment = (iso) => written(MOMENT, iso);
export const count = (number, one, many = `${one}s`) => `${number.toLocaleString()} ${number === 1 ? one : many}`;
/** Say since when something holds; where nobody named a day, when it was said. */
export const sinceOf = (from, said) => (from && ms(from) !== ms(said) ? `since ${day(from)}` : `said ${day(said)}`);
/** Say the same of a statement: its `valid_from` is the day it names, or else when it was said. */
export const begun = ({ valid_from, date }) => sinceOf(valid_from, date?.start === valid_from ? undefined : valid_from);
export const percent = (share) => `${Math.round(100 * share)}%`;

/** Parse a time as milliseconds since 1970. Historic UTC offsets have seconds, which browsers do not parse. */
export function ms(iso) {
  const [, rest, sign, seconds] = /^(.*([+-])\d\d:\d\d):(\d\d)(?:\.\d+)?$/.exec(iso) || [undefined, iso, "+", "0"];
  return new Date(rest).getTime() - Number(`${sign}${seconds}`) * 1000;
}

function written(format, iso) {
  const at = iso ? ms(iso) : NaN;
  return Number.isNaN(at) ? iso || "" : format.format(at);
}

/** Open a view with its state in the address; `replace` keeps the number of steps that Back takes.
 *  The page follows before this returns: an event that comes later could bring back what was shown before. */
function goTo(view, state, replace) {
  const kept = Object.entries(state).filter(([, value]) => value);
  const hash = `#/${view}${kept.length ? `?${new URLSearchParams(kept)}` : ""}`;
  if (hash === location.hash) return;
  if (replace) history.replaceState(history.state, "", hash);
  else history.pushState(null, "", hash);
  dispatchEvent(new Event("everyword-moved"));
}

/** Return a function that changes the state in the address of a view; what is "" or undefined leaves it.
 *  It starts from the address as it is when called: a field that reports late must not undo a later choice. */
export function addressOf(view, rest, query) {
  const path = [view, ...rest.map(encodeURIComponent)].join("/");
  return (changes, replace = false) => {
    const [now, state] = location.hash.split(/\?(.*)/s);
    goTo(path, { ...(now === `#/${path}` ? Object.fromEntries(new URLSearchParams(state)) : query), ...changes }, replace);
  };
}

/** Call a function when the user goes elsewhere: Back, Forward or a link. What a view writes itself does not count. */
export function useArrival(run) {
  useEffect(() => {
    addEventListener("popstate", run);
    return () => removeEventListener("popstate", run);
  }, []);
}

/** Hold a text that is being typed, and report it when the user pauses. A value from elsewhere replaces it; its own
 *  report does not come back, since more may have been typed. Returns the text, its setter, and a report at once.
 *  Layout effects: others run later than a timer may fire. */
export function useTyped(value, report, pause) {
  const [text, setText] = useState(value);
  const held = useRef(value); // the text as it is now: a timer that was set before must not report an older one
  const last = useRef(value); // reported, or received from elsewhere
  const put = (typed) => {
    held.current = typed;
    setText(typed);
  };
  const reportNow = () => {
    if (held.current.trim() === last.current) return;
    last.current = held.current.trim();
    report(last.current);
  };
  useLayoutEffect(() => {
    if (value === last.current) return;
    last.current = value;
    put(value);
  }, [value]);
  useLayoutEffect(() => {
    const timer = setTimeout(reportNow, pause);
    return () => clearTimeout(timer);
  }, [text]);
  useArrival(() => put(last.current));
  return [text, put, reportNow];
}

/** Show a dialog over the page, whatever becomes of the list below it; without an argument, none. */
export function overlay(dialog) {
  dispatchEvent(new CustomEvent("everyword-overlay", { detail: dialog }));
}

/** Addresses of what can be opened. */
export const linkTo = {
  session: (name, event) => `#/browse/session/${encodeURIComponent(name)}${event ? `?event=${event}` : ""}`,
  event: (id) => `#/browse/event/${id}`,
  statement: (id) => `#/browse/statement/${id}`,
  person: (name) => `#/people/${encodeURIComponent(name)}`,
};

/** Link to an event: its conversation at this line, or the event among others of its time. */
export const placeOf = (event) => (event.session ? linkTo.session(event.session, event.id) : linkTo.event(event.id));

/** Name whom a statement is about; "" where nobody signed it: the service then says "Speaker". */
export const subjectOf = ({ about, speaker }) => (about === "Speaker" && !speaker ? "" : about || "");

/** Tell whether a text contains a name as a word of its own. */
export const isNamed = (text, name) => new RegExp(`(^|[^\\p{L}\\p{N}])${name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}($|[^\\p{L}\\p{N}])`, "iu").test(text);

/** Tell what was done, in words; `action` is an offer such as Undo: { label, run }. */
export function tell(text, action) {
  dispatchEvent(new CustomEvent("everyword-told", { detail: { text, action: action || undefined } }));
}

/** Find the id of the last edit of a kind that fits: forgetting it takes the edit back. */
export async function lastRecord(kind, fits) {
  let [found, cursor] = [undefined, undefined];
  do {
    const page = await read("records", { kind, limit: MOST_LISTED, cursor });
    found = page.records.findLast(fits)?.id ?? found;
    cursor = page.next;
  } while (cursor);
  return found;
}

/** Run an asynchronous function when its inputs change, and abort the call before. */
export function useAsked(ask, inputs) {
  const [state, setState] = useState({ busy: true });
  useEffect(() => {
    const calling = new AbortController();
    setState((before) => ({ ...before, busy: true, error: undefined }));
    ask(calling.signal).then(
      (value) => calling.signal.aborted || setState({ value, busy: false }),
      (error) => calling.signal.aborted || error.name === "AbortError" || setState({ error, busy: false }),
    );
    return () => calling.abort();
  }, inputs);
  return state;
}

/** A select; an option is a value, or a pair of value and label. */
export function Choice({ label, value, options, onChange, disabled }) {
  return html`<select aria-label=${label} disabled=${disabled} onChange=${(event) => onChange(event.target.value)}>${options.map((one) => {
    const [chosen, shown] = Array.isArray(one) ? one : [one, one];
    return html`<option value=${chosen} selected=${chosen === value}>${shown}</option>`;
  })}</select>`;
}

/** Choose the day as of which a view is shown; "" is now. */
export function AsOf({ at, onChange }) {
  const today = new Date(Date.now() - new Date().getTimezoneOffset() * 60_000).toISOString().slice(0, 10);
  return html`<label class="as-of small soft" title="Show what was known at the end of this day"><span>As of</span>
    <input type="date" aria-label="As of" max=${today} value=${at || today} onChange=${(event) => onChange(event.target.value === today ? "" : event.target.value)} />
    ${at && html`<button class="small" onClick=${() => onChange("")}>Now</button>`}</label>`;
}

/** A text field whose value is reported when the user pauses. */
export function Search({ label, value, placeholder, onChange, big }) {
  const [text, setText] = useTyped(value, onChange, SEARCH_PAUSE_MS);
  return html`<input type="search" class=${big ? "big" : ""} aria-label=${label} placeholder=${placeholder} value=${text} autocomplete="off" onInput=${(event) => setText(event.target.value)} />`;
}

export function Head({ title, children, tools }) {
  return html`<header class="head"><div><h1>${title}</h1>${children && html`<p>${children}</p>`}</div>${tools}</header>`;
}

export function Trouble({ error }) {
  const { title, detail, fix } = error.problem || { title: "This page failed.", detail: String(error.message || error) };
  // Offer a retry only where it can help: not after an invalid request.
  const again = !error.problem || error.status === 0 || error.status >= 429;
  return html`<div class="card problem stack" role="alert"><div><h3>${detail || title}</h3>${fix && html`<p class="soft">${fix}</p>`}</div>
    ${again && html`<div><button onClick=${() => dispatchEvent(new Event("everyword-again"))}>Try again</button></div>`}</div>`;
}

export function Empty({ title, children }) {
  return html`<div class="empty"><h2>${title}</h2><p>${children}</p></div>`;
}

export function Waiting({ lines = 3 }) {
  return html`<div class="stack" role="status" aria-label="Loading">${Array.from({ length: lines }, () => html`<div class="skeleton" />`)}</div>`;
}

/** Show verbatim text with a marked span; long text can be expanded. Spans count code points, not UTF-16 units. */
export function Said({ text, span }) {
  const [steps, setSteps] = useState(0);
  const here = useRef();
  const letters = useMemo(() => Array.from(text), [text]);
  const [from, to] = span && !(span[0] === 0 && span[1] >= letters.length) ? span : [0, 0];
  const first = Math.max(0, Math.min(from - LONG / 4, letters.length - LONG));
  const begin = Math.max(0, first - steps * MORE);
  const end = Math.min(letters.length, first + LONG + steps * MORE);
  const all = letters.length.toLocaleString();
  const less = () => {
    setSteps(0);
    setTimeout(() => here.current?.scrollIntoView({ block: "nearest" })); // the text above has shrunk by thousands of lines
  };
  const part = (a, b) => letters.slice(Math.max(a, begin), Math.max(Math.min(b, end), begin)).join("");
  return html`<p class=${steps ? "said long" : "said"} dir="auto" ref=${here}>${begin > 0 && "… "}${
    to > from ? html`${part(0, from)}<mark>${part(from, to)}</mark>${part(to, letters.length)}` : part(0, letters.length)
  }${end < letters.length && " …"}</p>
  ${letters.length > LONG && html`<div class="row">
    ${end - begin < letters.length && html`<button class="link small" onClick=${() => setSteps(steps + 1)}>${letters.length <= MORE ? `Show all ${all} characters` : `Show more of ${all} characters`}</button>`}
    ${steps > 0 && html`<button class="link small" onClick=${less}>Show less</button>`}</div>`}`;
}

const left = new Map(); // scroll positions: length of the list, and the entry at the top of the window

/** Return an id of the current history entry, under which scroll positions are kept. */
function entry() {
  if (!history.state?.entry) history.replaceState({ ...history.state, entry: `${Date.now()} ${Math.random()}` }, "");
  return history.state.entry;
}

function leave(name, list) {
  const rows = [...list.querySelectorAll("[data-id]")];
  const row = rows.find((one) => one.getBoundingClientRect().bottom > 0);
  if (!row || scrollY === 0) return void left.delete(name);
  left.set(name, { count: Number(list.dataset.count), id: row.dataset.id, top: row.getBoundingClientRect().top });
  if (left.size > MOST_LEFT) left.delete(left.keys().next().value);
}

function comeBack({ id, top }, list) {
  const row = [...list.querySelectorAll("[data-id]")].find((one) => one.dataset.id === id);
  const go = () => row?.isConnected && scrollBy(0, row.getBoundingClientRect().top - top);
  go();
  requestAnimationFrame(go); // rows get their heights only when visible
}

/** Some rows of a long list. Far from the window they are replaced by a box of the same height. */
function Chunk({ items, item }) {
  const box = useRef();
  const [height, setHeight] = useState(0);
  useEffect(() => {
    const watch = new IntersectionObserver(([one]) => setHeight(one.isIntersecting ? 0 : one.boundingClientRect.height), { rootMargin: CHUNK_MARGIN });
    watch.observe(box.current);
    return () => watch.disconnect();
  }, []);
  return html`<div ref=${box} style=${height ? `height: ${height}px` : ""}>${!height && html`<ul class="list">${items.map((one) => html`<li key=${one.id || one.name} data-id=${one.id || one.name}>${item(one)}</li>`)}</ul>`}</div>`;
}

/** A list of any length, of which only what is near the window is in the page. */
export function Long({ items, item, box }) {
  const chunks = Array.from({ length: Math.ceil(items.length / CHUNK) }, (_, at) => items.slice(at * CHUNK, (at + 1) * CHUNK));
  return html`<div class="long-list" ref=${box} data-count=${items.length}>${chunks.map((some, at) => html`<${Chunk} key=${at} items=${some} item=${item} />`)}</div>`;
}

/** A list that loads its next page when its end becomes visible. */
export function Paged({ operation, parameters = {}, name, item, empty, keep = () => true }) {
  const asked = JSON.stringify(parameters);
  const [state, setState] = useState({ items: [], next: undefined, busy: true });
  const turn = useRef(0);
  const asking = useRef();
  const list = useRef();
  const coming = useRef(); // the scroll position to restore
  const place = useRef();
  place.current ??= entry();
  const called = useRef();
  called.current = `${place.current} ${scope.space} ${operation} ${asked}`;
  const more = (cursor) => {
    // The end may become visible twice before the page arrives; load it once, or it would be shown twice.
    if (cursor && asking.current === cursor) return;
    asking.current = cursor;
    const mine = turn.current;
    setState((before) => ({ ...before, busy: true, error: undefined }));
    const limit = coming.current ? Math.min(MOST_LISTED, Math.max(parameters.limit || 0, coming.current.count)) : parameters.limit;
    read(operation, { ...parameters, limit, cursor }).then(
      (page) => mine === turn.current && setState((before) => ({ items: [...(cursor ? before.items : []), ...page[name || operation].filter(keep)], next: page.next, busy: false })),
      (error) => {
        if (mine !== turn.current) return;
        asking.current = undefined;
        setState((before) => ({ ...before, error, busy: false }));
      },
    );
  };
  useEffect(() => {
    turn.current += 1;
    asking.current = undefined;
    coming.current = left.get(called.current);
    setState({ items: [], next: undefined, busy: true });
    more();
  }, [operation, asked]);
  useEffect(() => () => list.current && leave(called.current, list.current), []);
  useEffect(() => {
    if (!coming.current || !state.items.length) return;
    comeBack(coming.current, list.current);
    coming.current = undefined;
  }, [state.items.length]);
  if (state.error) return html`<${Trouble} error=${state.error} />`;
  if (!state.items.length && !state.next) return state.busy ? html`<${Waiting} />` : empty;
  return html`<${Long} items=${state.items} item=${item} box=${list} />
    ${state.next && html`<${Sight} key=${state.next} onSight=${() => more(state.next)} />`}`;
}

function Sight({ onSight }) {
  const here = useRef();
  useEffect(() => {
    const watch = new IntersectionObserver(([one]) => one.isIntersecting && onSight(), { rootMargin: "600px" });
    watch.observe(here.current);
    return () => watch.disconnect();
  }, []);
  return html`<div ref=${here} class="pad"><button onClick=${onSight}>Show more</button></div>`;
}

/** `plain`: without a visible title and button, for the palette. */
export function Dialog({ title, onClose, children, plain }) {
  const here = useRef();
  useEffect(() => {
    here.current.showModal();
  }, []);
  const close = () => here.current.close(); // restores the focus, then calls onClose
  const outside = (event) => event.target === here.current && close();
  return html`<dialog ref=${here} onClose=${onClose} onClick=${outside} aria-label=${title}>
    <div class="stack">${!plain && html`<div class="row"><h2 class="grow">${title}</h2><button class="plain" onClick=${close}>Close</button></div>`}${children}</div>
  </dialog>`;
}

/** An error boundary: a view that fails must not break the page. */
export class Safe extends Component {
  componentDidCatch(error) {
    this.setState({ error });
  }
  componentDidUpdate(before) {
    if (before.name !== this.props.name && this.state.error) this.setState({ error: undefined });
  }
  render({ children }, { error }) {
    return error ? html`<${Trouble} error=${error} />` : children;
  }
}
