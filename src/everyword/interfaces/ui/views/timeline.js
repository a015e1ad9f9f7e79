// Events as bars, facts over their validity, and dated statements on a time axis.

import { useEffect, useMemo, useRef, useState } from "../vendor/preact-htm.js";
import { read } from "../api.js";
import { Choice, Empty, EventCard, Head, Paged, Trouble, Waiting, count, day, html, ms, useAsked } from "../parts.js";

const MOST = 150; // statements drawn: more can't be distinguished
const PARTS = 160; // bars of events
const ROWS = 14; // of facts
const ROW = 24; // px
const SAID = 90; // px of the event bars
const LABEL = 56; // px of a date
const LETTER = 6; // px per character of a fact
const DAY_MS = 86_400_000;
const SHORTEST_MS = DAY_MS / 24;
const PAUSE_MS = 250; // after the last move before data is loaded
const [FIRST, LAST] = ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999Z"].map(ms); // the range of times that the service accepts
const KINDS = [["", "All kinds"], ["said", "events"], ["fact", "facts"], ...["event", "plan", "task", "decision", "attribute", "fact", "preference", "relationship", "habit", "insight", "instruction"].map((one) => [one, one])];

export default function Timeline({ me }) {
  const [person, setPerson] = useState("");
  const [wing, setWing] = useState("");
  const [kind, setKind] = useState("");
  const has = (name) => me.operations.includes(name);
  const stated = kind === "said" || kind === "fact" ? null : kind; // the kind of statements to show, if any
  const whole = useAsked(async (signal) => {
    const speaker = person || undefined;
    const [said, statements] = await Promise.all([
      read("activity", { speaker, wing, parts: PARTS }, signal),
      has("statements") && stated !== null ? read("statements", { limit: MOST, about: speaker, wing, kind: stated, status: "any" }, signal) : {},
    ]);
    return { said, statements: (statements.statements || []).filter((one) => one.date), cut: Boolean(statements.next) };
  }, [person, wing, kind]);
  const { speakers = [], wings = [] } = whole.value?.said || {};
  const tools = html`<div class="row">
    <${Choice} label="Person" value=${person} options=${[["", "Everyone"], ...speakers]} onChange=${setPerson} />
    ${wings.length > 0 && html`<${Choice} label="Wing" value=${wing} options=${[["", "All wings"], ...wings]} onChange=${setWing} />`}
    <${Choice} label="Kind" value=${kind} options=${KINDS} onChange=${setKind} />
  </div>`;
  return html`<${Head} title="Timeline" tools=${tools}>When events happened, and how long facts were true.</>
    ${whole.error && html`<${Trouble} error=${whole.error} />`}${!whole.value && whole.busy && html`<${Waiting} />`}
    ${whole.value && html`<${Picture} ...${whole.value} person=${person} wing=${wing} kind=${kind} />`}`;
}

function Picture({ said, statements, cut, person, wing, kind }) {
  const ends = useMemo(() => extent(said, statements), [said, statements]);
  const [seen, setSeen] = useState(ends);
  const [asked, setAsked] = useState(ends);
  const [width, setWidth] = useState(900);
  const box = useRef();
  useEffect(() => {
    setSeen(ends);
    setAsked(ends);
  }, [ends]);
  useEffect(() => {
    const timer = setTimeout(() => setAsked(seen), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [seen]);
  useEffect(() => {
    const watch = new ResizeObserver(([one]) => setWidth(Math.max(280, one.contentRect.width)));
    watch.observe(box.current);
    return () => watch.disconnect();
  }, []);
  const closer = useAsked((signal) => (asked === ends ? Promise.resolve(said)
    : read("activity", { speaker: person, wing, since: iso(asked[0]), until: iso(asked[1]), parts: PARTS }, signal)), [asked, said]);
  const rows = useAsked((signal) => (kind === "" || kind === "fact" ? held(asked, person, wing, signal) : Promise.resolve([])), [asked, person, wing, kind]).value || [];
  const zoom = (factor, at = 0.5) => setSeen(([from, to]) => {
    const held = from + (to - from) * at;
    const length = Math.min(Math.max((to - from) * factor, SHORTEST_MS), (ends[1] - ends[0]) * 1.5);
    return within([held - length * at, held + length * (1 - at)]);
  });
  const move = (share) => setSeen(([from, to]) => within([from + (to - from) * share, to + (to - from) * share]));
  const drawn = useRef({});
  drawn.current = { zoom, move, width };
  useEffect(() => gestures(box.current, drawn), []);
  const nothing = !said.events && !rows.length && !statements.length;
  if (nothing) return html`<div ref=${box}><${Empty} title="No events">No event matches these filters.</></div>`;
  const x = (ms) => ((ms - seen[0]) / (seen[1] - seen[0])) * width;
  const height = SAID + 44 + rows.length * ROW + (statements.length ? 22 : 0);
  const keys = { "+": () => zoom(0.7), "=": () => zoom(0.7), "-": () => zoom(1.4), ArrowLeft: () => move(-0.15), ArrowRight: () => move(0.15), Home: () => setSeen(ends) };
  const pressed = (event) => {
    if (!keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  };
  const inSight = statements.filter((one) => ms(one.date.start) >= seen[0] && ms(one.date.start) < seen[1]);
  return html`<div class="stack">
    <div ref=${box}><svg class="time" height=${height} viewBox=${`0 0 ${width} ${height}`} tabindex="0" role="img" aria-label="Timeline. Plus and minus zoom, arrows move, Home shows all." onKeyDown=${pressed}>
      ${ticks(seen, width).filter(({ at }) => x(at) >= 0 && x(at) < width - LABEL).map(({ at, label }) => html`<g><line class="grid" x1=${x(at)} x2=${x(at)} y1="22" y2=${height} /><text x=${x(at) + 4} y="15">${label}</text></g>`)}
      <${Bars} said=${closer.value || said} x=${x} onOpen=${setSeen} />
      ${rows.map((fact, number) => html`<${FactBar} fact=${fact} x=${x} y=${SAID + 34 + number * ROW} width=${width} />`)}
      ${inSight.map((one) => html`<a href=${`#/statements/${one.id}`} tabindex="-1"><circle class="dot" cx=${x(ms(one.date.start))} cy=${height - 12} r="3.5"><title>${`${day(one.date.start)}: ${one.content}`}</title></circle></a>`)}
    </svg></div>
    <div class="row"><span class="soft small grow">${day(iso(seen[0]))} to ${day(iso(seen[1]))} · ${count((closer.value || said).events, "event")}, ${count(rows.length, "fact")}${rows.length === ROWS ? " that were true longest" : ""}, ${count(inSight.length, "dated statement")}${cut ? ` of the ${MOST} oldest` : ""}. Scroll or pinch to zoom, drag to move.</span>
      <button onClick=${() => zoom(0.6)} aria-label="Zoom in">+</button><button onClick=${() => zoom(1.7)} aria-label="Zoom out">−</button><button onClick=${() => setSeen(ends)}>All</button></div>
    <${Listed} kind=${kind} facts=${rows} statements=${inSight} cut=${cut} person=${person} wing=${wing} asked=${asked} />
  </div>`;
}

/** The visible items as a list. */
function Listed({ kind, facts, statements, cut, person, wing, asked }) {
  const nothing = html`<p class="quiet">Nothing of this kind in the visible period.</p>`;
  if (kind === "" || kind === "said") {
    return html`<${Paged} operation="events" parameters=${{ since: iso(asked[0]), until: iso(asked[1]), speaker: person, wing, limit: 50 }} item=${(one) => html`<${EventCard} event=${one} />`} empty=${nothing} />`;
  }
  const items = kind === "fact"
    ? facts.map((one) => [one.id, sentence(one), one.sources?.[0]?.quote, span(one)])
    : statements.map((one) => [one.id, one.content, one.quote, day(one.date.start)]);
  if (!items.length) return kind !== "fact" && cut ? html`<p class="quiet">None of the ${MOST} oldest is in the visible period. <a href="#/statements">All statements</a></p>` : nothing;
  return html`<ul class="list">${items.map(([id, words, quote, when]) => html`<li key=${id}><article class="card hit"><b>${words}</b>
    ${quote && html`<p class="said" dir="auto">“${quote}”</p>`}<div class="meta"><span>${when}</span></div></article></li>`)}</ul>`;
}

/** One bar per period with its number of events. A double click zooms in. */
function Bars({ said, x, onOpen }) {
  if (!said.events) return null;
  const [begin, end] = [ms(said.begin), ms(said.end)];
  const length = (end - begin) / said.counts.length;
  const most = Math.max(...said.counts, 1);
  return said.counts.map((number, place) => {
    if (!number) return null;
    const at = begin + place * length;
    const tall = 6 + (SAID - 14) * Math.sqrt(number / most);
    return html`<rect class="saids" x=${x(at)} y=${SAID + 22 - tall} width=${Math.max(1.5, x(at + length) - x(at) - 1)} height=${tall} rx="1.5" onDblClick=${() => onOpen([at, at + Math.max(length, SHORTEST_MS)])}>
      <title>${`${count(number, "event")}, ${day(iso(at))}`}</title></rect>`;
  });
}

function FactBar({ fact, x, y, width }) {
  const from = Math.max(-4, fact.valid_from ? x(ms(fact.valid_from)) : -4);
  const to = Math.min(width + 4, fact.valid_to ? x(ms(fact.valid_to)) : width + 4);
  const behind = from > width / 2; // put the text on the side with more room
  const words = Array.from(sentence(fact));
  const fits = Math.max(8, Math.floor((behind ? from - 12 : width - Math.max(6, from + 6)) / LETTER));
  return html`<g><rect class=${fact.valid_to ? "fact over" : "fact"} x=${from} y=${y} width=${Math.max(3, to - from)} height=${ROW - 6} rx="4">
    <title>${`${sentence(fact)}, ${span(fact)}`}</title></rect>
    <text class="label" x=${behind ? from - 6 : Math.max(6, from + 6)} y=${y + 13} text-anchor=${behind ? "end" : "start"} pointer-events="none">${words.length > fits ? `${words.slice(0, fits - 1).join("")}…` : words.join("")}</text></g>`;
}

/** Zoom by wheel or pinch, move by drag. `drawn` holds the current functions. */
function gestures(box, drawn) {
  const held = new Map(); // x positions of the pointers that are down
  const place = (x) => (x - box.getBoundingClientRect().left) / drawn.current.width;
  const apart = () => {
    const [one, two] = [...held.values()];
    return Math.max(8, Math.abs(one - two));
  };
  const wheel = (event) => {
    if (!event.target.closest(".time")) return;
    event.preventDefault();
    drawn.current.zoom(event.deltaY > 0 ? 1.2 : 1 / 1.2, place(event.clientX));
  };
  const down = (event) => {
    if (event.target.closest(".time")) held.set(event.pointerId, event.clientX);
  };
  const moved = (event) => {
    if (!held.has(event.pointerId)) return;
    const before = held.size === 2 ? apart() : 0;
    const by = held.get(event.pointerId) - event.clientX;
    held.set(event.pointerId, event.clientX);
    if (held.size === 2) drawn.current.zoom(before / apart(), place([...held.values()].reduce((a, b) => a + b) / 2));
    else drawn.current.move(by / drawn.current.width);
  };
  const up = (event) => held.delete(event.pointerId);
  box.addEventListener("wheel", wheel, { passive: false });
  box.addEventListener("pointerdown", down);
  const follow = { pointermove: moved, pointerup: up, pointercancel: up };
  for (const [name, action] of Object.entries(follow)) addEventListener(name, action);
  return () => {
    for (const [name, action] of Object.entries(follow)) removeEventListener(name, action);
  };
}

/** Load the facts that were true for most of the visible period, in order of time. */
async function held([since, until], subject, wing, signal) {
  try {
    const { facts } = await read("held", { since: iso(since), until: iso(until), subject, wing, limit: ROWS }, signal);
    return facts.sort((a, b) => ms(a.valid_from || a.said_at) - ms(b.valid_from || b.said_at));
  } catch (error) {
    if (error.status === 404) return []; // unknown subject
    throw error;
  }
}

function extent(said, statements) {
  // Use the range of events only: a distant date, such as a birthday, would squeeze everything else.
  const all = said.events ? [ms(said.begin), ms(said.end)]
    : statements.map((one) => ms(one.date.start));
  if (!all.length) return [Date.now() - 30 * DAY_MS, Date.now()];
  const [low, high] = [Math.min(...all), Math.max(...all)];
  const room = Math.max((high - low) * 0.04, DAY_MS / 2);
  return [Math.max(low - room, FIRST), Math.min(high + room, LAST)];
}

/** Move a period into the accepted range. */
function within([from, to]) {
  const length = Math.min(to - from, LAST - FIRST);
  const begin = Math.min(Math.max(from, FIRST), LAST - length);
  return [begin, begin + length];
}

function ticks([from, to], width) {
  const wanted = (to - from) / Math.max(2, width / 120);
  const months = wanted / (30 * DAY_MS);
  const found = [];
  if (months > 0.7) {
    const step = [1, 2, 3, 6, 12, 24, 60, 120, 240, 600, 1200, 2400, 6000].find((one) => one >= months) || 12_000;
    const begin = new Date(from);
    for (let month = Math.ceil((begin.getFullYear() * 12 + begin.getMonth()) / step) * step; ; month += step) {
      const at = new Date(2000, 0, 1);
      at.setFullYear(Math.floor(month / 12), month % 12, 1); // the constructor reads the years 1 to 99 as 1901 to 1999
      if (at.getTime() > to) break;
      found.push({ at: at.getTime(), label: step >= 12 ? String(at.getFullYear()) : at.toLocaleDateString(undefined, { month: "short", year: "numeric" }) });
    }
    return found;
  }
  const days = [1 / 24, 0.25, 1, 2, 7, 14].find((one) => one * DAY_MS >= wanted) || 14;
  for (let at = Math.ceil(from / (days * DAY_MS)) * days * DAY_MS; at < to; at += days * DAY_MS) {
    const options = days < 1 ? { day: "numeric", month: "short", hour: "2-digit" } : { day: "numeric", month: "short" };
    found.push({ at, label: new Date(at).toLocaleString(undefined, options) });
  }
  return found;
}

const iso = (at) => new Date(at).toISOString();
const sentence = (fact) => `${fact.subject} ${fact.relation.replaceAll("_", " ")} ${fact.object}`;
const span = (fact) => `${fact.valid_from ? day(fact.valid_from) : "?"} to ${fact.valid_to ? day(fact.valid_to) : "now"}`;
