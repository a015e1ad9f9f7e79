// What several views share. Text always goes in as text: nothing here, or elsewhere, sets HTML.

import { Component, html, useEffect, useRef, useState } from "./vendor/preact-htm.js";
import { read } from "./api.js";

export { html };

const DAY = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", year: "numeric" });
const MOMENT = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit" });
export const LONG = 700; // characters of an event that are shown before "more"

export const day = (iso) => written(DAY, iso);
export const moment = (iso) => written(MOMENT, iso);
export const count = (number, one, many = `${one}s`) => `${number.toLocaleString()} ${number === 1 ? one : many}`;
export const percent = (share) => `${Math.round(100 * share)}%`;

/** Read a moment, in milliseconds since 1970. Offsets of long ago have seconds, which a browser does not read. */
export function ms(iso) {
  const [, rest, sign, seconds] = /^(.*([+-])\d\d:\d\d):(\d\d)(?:\.\d+)?$/.exec(iso) || [undefined, iso, "+", "0"];
  return new Date(rest).getTime() - Number(`${sign}${seconds}`) * 1000;
}

function written(format, iso) {
  const at = iso ? ms(iso) : NaN;
  return Number.isNaN(at) ? iso || "" : format.format(at);
}

/** Run an asynchronous function when its inputs change; what was asked before is called off. */
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

/** A choice of one; the first of a pair is what is chosen, the second what is shown. */
export function Choice({ label, value, options, onChange }) {
  return html`<select aria-label=${label} onChange=${(event) => onChange(event.target.value)}>${options.map((one) => {
    const [chosen, shown] = Array.isArray(one) ? one : [one, one];
    return html`<option value=${chosen} selected=${chosen === value}>${shown}</option>`;
  })}</select>`;
}

export function Head({ title, children, tools }) {
  return html`<header class="head"><div><h1>${title}</h1>${children && html`<p>${children}</p>`}</div>${tools}</header>`;
}

export function Trouble({ error }) {
  const { title, detail, fix } = error.problem || { title: "Something went wrong on this page.", detail: String(error.message || error) };
  // What a server could not do now it may do later; what was asked wrongly stays wrong.
  const again = !error.problem || error.status === 0 || error.status >= 429;
  return html`<div class="card problem stack" role="alert"><div><h3>${detail || title}</h3>${fix && html`<p class="soft">${fix}</p>`}</div>
    ${again && html`<div><button onClick=${() => dispatchEvent(new Event("recollect-again"))}>Try again</button></div>`}</div>`;
}

export function Empty({ title, children }) {
  return html`<div class="empty"><h2>${title}</h2><p>${children}</p></div>`;
}

export function Waiting({ lines = 3 }) {
  return html`<div class="stack" role="status" aria-label="Loading">${Array.from({ length: lines }, () => html`<div class="skeleton" />`)}</div>`;
}

/** Show words verbatim, a part of them marked; long ones can be opened. Spans count code points, not UTF-16 units. */
export function Said({ text, span }) {
  const [open, setOpen] = useState(false);
  const letters = Array.from(text);
  const [from, to] = span && !(span[0] === 0 && span[1] >= letters.length) ? span : [0, 0];
  const begin = open || letters.length <= LONG ? 0 : Math.max(0, Math.min(from - LONG / 4, letters.length - LONG));
  const end = open ? letters.length : Math.min(letters.length, begin + LONG);
  const part = (a, b) => letters.slice(Math.max(a, begin), Math.max(Math.min(b, end), begin)).join("");
  return html`<p class="said" dir="auto">${begin > 0 && "… "}${
    to > from ? html`${part(0, from)}<mark>${part(from, to)}</mark>${part(to, letters.length)}` : part(0, letters.length)
  }${end < letters.length && " …"}</p>
  ${letters.length > LONG && html`<button class="link small" onClick=${() => setOpen(!open)}>${open ? "Show less" : `Show all ${letters.length.toLocaleString()} characters`}</button>`}`;
}

export function About({ event, children }) {
  return html`<div class="meta">
    ${event.speaker && html`<b>${event.speaker}</b>`}<span class="tabular">${moment(event.at)}</span>
    ${event.session && html`<a href=${`#/sessions/${encodeURIComponent(event.session)}`}>${event.session}</a>`}
    ${event.wing && html`<span class="tag">${event.wing}</span>`}${children}
  </div>`;
}

export function EventCard({ event, span, children }) {
  return html`<article class="card hit"><${Said} text=${event.text} span=${span} /><${About} event=${event}>${children}</></article>`;
}

/** A list that asks for its next page when its end comes into sight. */
export function Paged({ operation, parameters = {}, name, item, empty }) {
  const asked = JSON.stringify(parameters);
  const [state, setState] = useState({ items: [], next: undefined, busy: true });
  const turn = useRef(0);
  const asking = useRef();
  const more = (cursor) => {
    // Its end may go out of sight and come back before the page is there: it is asked for once, or it would be shown twice.
    if (cursor && asking.current === cursor) return;
    asking.current = cursor;
    const mine = turn.current;
    setState((before) => ({ ...before, busy: true, error: undefined }));
    read(operation, { ...parameters, cursor }).then(
      (page) => mine === turn.current && setState((before) => ({ items: [...(cursor ? before.items : []), ...page[name || operation]], next: page.next, busy: false })),
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
    setState({ items: [], next: undefined, busy: true });
    more();
  }, [operation, asked]);
  if (state.error) return html`<${Trouble} error=${state.error} />`;
  if (!state.items.length) return state.busy ? html`<${Waiting} />` : empty;
  return html`<ul class="list">${state.items.map((one) => html`<li key=${one.id || one.name}>${item(one)}</li>`)}</ul>
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

export function Dialog({ title, onClose, children }) {
  const here = useRef();
  useEffect(() => {
    here.current.showModal();
  }, []);
  const outside = (event) => event.target === here.current && onClose();
  return html`<dialog ref=${here} onClose=${onClose} onClick=${outside} aria-label=${title}>
    <div class="stack"><div class="row"><h2 class="grow">${title}</h2><button class="plain" onClick=${onClose}>Close</button></div>${children}</div>
  </dialog>`;
}

/** One view that breaks must not take the page with it. */
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
