// Time from left to right: sessions by how much was said, facts as long as they held, statements where they are dated.

import { useEffect, useMemo, useRef, useState } from "../vendor/preact-htm.js";
import { read } from "../api.js";
import { Choice, Empty, EventCard, Head, Paged, Trouble, Waiting, count, day, html, useAsked } from "../parts.js";

const MOST = 300; // sessions, facts or statements that are drawn, the latest: more are hairlines, and take a second to fetch
const ROWS = 14; // of facts; more would be no picture any more
const ROW = 24; // px
const SESSIONS = 90; // px that the bars of sessions may take
const DAY_MS = 86_400_000;
const PAUSE_MS = 350; // of moving before the list below is asked for
const KINDS = ["", "decision", "todo", "reminder", "event", "key_fact"];

export default function Timeline({ me }) {
  const [person, setPerson] = useState("");
  const [wing, setWing] = useState("");
  const [kind, setKind] = useState("");
  const has = (name) => me.operations.includes(name);
  const whole = useAsked(async (signal) => {
    const limit = MOST;
    const speaker = person || undefined;
    const nothing = () => ({});
    const [sessions, facts, artifacts] = await Promise.all([
      read("sessions", { limit, speaker, wing }, signal),
      has("facts") ? read("facts", { limit, subject: speaker }, signal).catch(nothing) : {},
      has("artifacts") ? read("artifacts", { limit, about: speaker, kind, status: "any" }, signal).catch(nothing) : {},
    ]);
    return { sessions: sessions.sessions, facts: facts.facts || [], artifacts: (artifacts.artifacts || []).filter((one) => one.date) };
  }, [person, wing, kind]);
  const [everybody, setEverybody] = useState([]);
  useEffect(() => {
    if (whole.value && !person && !wing) setEverybody(whole.value.sessions);
  }, [whole.value]);
  const names = unique(everybody.flatMap((one) => one.speakers));
  const wings = unique(everybody.flatMap((one) => one.wings));
  const tools = html`<div class="row">
    <${Choice} label="Person" value=${person} options=${[["", "Everybody"], ...names]} onChange=${setPerson} />
    ${wings.length > 0 && html`<${Choice} label="Wing" value=${wing} options=${[["", "All wings"], ...wings]} onChange=${setWing} />`}
    <${Choice} label="Kind" value=${kind} options=${KINDS.map((one) => [one, one ? one.replaceAll("_", " ") : "All kinds"])} onChange=${setKind} />
  </div>`;
  return html`<${Head} title="Timeline" tools=${tools}>What was said when, and how long things were true. Scroll to zoom, drag to move.</>
    ${whole.error && html`<${Trouble} error=${whole.error} />`}${!whole.value && whole.busy && html`<${Waiting} />`}
    ${whole.value && html`<${Picture} ...${whole.value} person=${person} wing=${wing} />`}`;
}

function Picture({ sessions, facts, artifacts, person, wing }) {
  const ends = useMemo(() => extent(sessions, facts, artifacts), [sessions, facts, artifacts]);
  const [seen, setSeen] = useState(ends);
  const [listed, setListed] = useState(ends);
  const [width, setWidth] = useState(900);
  const box = useRef();
  useEffect(() => setSeen(ends), [ends]);
  useEffect(() => {
    const timer = setTimeout(() => setListed(seen), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [seen]);
  useEffect(() => {
    const watch = new ResizeObserver(([one]) => setWidth(Math.max(280, one.contentRect.width)));
    watch.observe(box.current);
    return () => watch.disconnect();
  }, []);
  const zoom = (factor, at = 0.5) => setSeen(([from, to]) => {
    const held = from + (to - from) * at;
    const length = Math.min(Math.max((to - from) * factor, DAY_MS / 4), (ends[1] - ends[0]) * 1.5);
    return [held - length * at, held + length * (1 - at)];
  });
  const move = (share) => setSeen(([from, to]) => [from + (to - from) * share, to + (to - from) * share]);
  const drawn = useRef({});
  drawn.current = { zoom, move, width };
  useEffect(() => gestures(box.current, drawn), []);
  if (!sessions.length && !facts.length) return html`<div ref=${box}><${Empty} title="Nothing on the line">Nothing that fits was said yet.</></div>`;
  const x = (ms) => ((ms - seen[0]) / (seen[1] - seen[0])) * width;
  const rows = pickRows(facts, seen);
  const height = SESSIONS + 44 + rows.length * ROW + (artifacts.length ? 22 : 0);
  const keys = { "+": () => zoom(0.7), "-": () => zoom(1.4), ArrowLeft: () => move(-0.15), ArrowRight: () => move(0.15), Home: () => setSeen(ends) };
  const pressed = (event) => {
    if (!keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  };
  return html`<div class="stack">
    <div ref=${box}><svg class="time" height=${height} viewBox=${`0 0 ${width} ${height}`} tabindex="0" role="img" aria-label="Timeline. Plus and minus zoom, arrows move, Home shows all." onKeyDown=${pressed}>
      ${ticks(seen, width).filter(({ at }) => x(at) >= 0).map(({ at, label }) => html`<g><line class="grid" x1=${x(at)} x2=${x(at)} y1="22" y2=${height} /><text x=${x(at) + 4} y="15">${label}</text></g>`)}
      <${SessionBars} sessions=${sessions} x=${x} />
      ${rows.map((fact, number) => html`<${FactBar} fact=${fact} x=${x} y=${SESSIONS + 34 + number * ROW} width=${width} />`)}
      ${artifacts.map((one) => html`<circle class="dot" cx=${x(ms(one.date.start))} cy=${height - 12} r="3.5"><title>${`${day(one.date.start)}: ${one.content}`}</title></circle>`)}
    </svg></div>
    <div class="row"><span class="soft small grow">${day(new Date(seen[0]).toISOString())} to ${day(new Date(seen[1]).toISOString())} · ${count(sessions.length, "session")}, ${count(facts.length, "fact")}, ${count(artifacts.length, "dated statement")}</span>
      <button onClick=${() => zoom(0.6)} aria-label="Zoom in">+</button><button onClick=${() => zoom(1.7)} aria-label="Zoom out">−</button><button onClick=${() => setSeen(ends)}>All</button></div>
    <${Paged} operation="events" parameters=${{ since: iso(listed[0]), until: iso(listed[1]), speaker: person, wing, limit: 50 }} item=${(one) => html`<${EventCard} event=${one} />`}
      empty=${html`<p class="quiet">Nothing was said in this window.</p>`} />
  </div>`;
}

function SessionBars({ sessions, x }) {
  const most = Math.max(...sessions.map((one) => one.events), 1);
  return sessions.map((one) => {
    const tall = 8 + (SESSIONS - 16) * Math.sqrt(one.events / most);
    const from = x(ms(one.first_at));
    return html`<a href=${`#/sessions/${encodeURIComponent(one.name)}`}><rect class="session" x=${from} y=${SESSIONS + 22 - tall} width=${Math.max(3, x(ms(one.last_at)) - from)} height=${tall} rx="2">
      <title>${`${one.name}: ${count(one.events, "event")}, ${day(one.first_at)}`}</title></rect></a>`;
  });
}

function FactBar({ fact, x, y, width }) {
  const from = Math.max(-4, fact.valid_from ? x(ms(fact.valid_from)) : -4);
  const to = Math.min(width + 4, fact.valid_to ? x(ms(fact.valid_to)) : width + 4);
  const words = `${fact.subject} ${fact.relation.replaceAll("_", " ")} ${fact.object}`;
  return html`<g><rect class=${fact.valid_to ? "fact over" : "fact"} x=${from} y=${y} width=${Math.max(3, to - from)} height=${ROW - 6} rx="4">
    <title>${`${words}, ${fact.valid_from ? day(fact.valid_from) : "?"} to ${fact.valid_to ? day(fact.valid_to) : "now"}`}</title></rect>
    <text class="label" x=${Math.max(6, Math.min(from + 6, width - 160))} y=${y + 13} pointer-events="none">${Array.from(words).slice(0, 60).join("")}</text></g>`;
}

/** Let the wheel zoom and a dragged pointer move; the latest functions are read from `drawn`. */
function gestures(box, drawn) {
  let last = null;
  const wheel = (event) => {
    if (!event.target.closest(".time")) return;
    event.preventDefault();
    drawn.current.zoom(event.deltaY > 0 ? 1.2 : 1 / 1.2, (event.clientX - box.getBoundingClientRect().left) / drawn.current.width);
  };
  const down = (event) => { last = event.target.closest(".time") ? event.clientX : null; };
  const moved = (event) => {
    if (last === null) return;
    drawn.current.move((last - event.clientX) / drawn.current.width);
    last = event.clientX;
  };
  const up = () => { last = null; };
  box.addEventListener("wheel", wheel, { passive: false });
  box.addEventListener("pointerdown", down);
  addEventListener("pointermove", moved);
  addEventListener("pointerup", up);
  return () => {
    removeEventListener("pointermove", moved);
    removeEventListener("pointerup", up);
  };
}

function pickRows(facts, [from, to]) {
  const inside = facts.filter((one) => (!one.valid_from || ms(one.valid_from) < to) && (!one.valid_to || ms(one.valid_to) > from));
  return inside.sort((a, b) => (ms(a.valid_from || a.recorded_at) - ms(b.valid_from || b.recorded_at))).slice(0, ROWS);
}

function extent(sessions, facts, artifacts) {
  const all = [
    ...sessions.flatMap((one) => [ms(one.first_at), ms(one.last_at)]),
    ...facts.flatMap((one) => [one.valid_from, one.valid_to].filter(Boolean).map(ms)),
    ...artifacts.map((one) => ms(one.date.start)),
  ].sort((a, b) => a - b);
  if (!all.length) return [Date.now() - 30 * DAY_MS, Date.now()];
  // A date far away, as a birthday, must not squeeze all the rest into a line.
  const said = sessions.length ? [ms(sessions.at(-1).first_at), ms(sessions[0].last_at)] : [all[0], all.at(-1)];
  const [low, high] = [Math.min(...said), Math.max(...said)];
  const room = Math.max((high - low) * 0.15, 3 * DAY_MS);
  return [low - room, high + room];
}

function ticks([from, to], width) {
  const wanted = (to - from) / Math.max(2, width / 120);
  const months = wanted / (30 * DAY_MS);
  const found = [];
  if (months > 0.7) {
    const step = [1, 2, 3, 6, 12, 24, 60, 120, 240].find((one) => one >= months) || 600;
    const begin = new Date(from);
    for (let month = begin.getFullYear() * 12 + begin.getMonth(); ; month += 1) {
      const at = new Date(Math.floor(month / 12), month % 12, 1);
      if (at.getTime() > to) break;
      if (month % step === 0) found.push({ at: at.getTime(), label: step >= 12 ? String(at.getFullYear()) : at.toLocaleDateString(undefined, { month: "short", year: "numeric" }) });
    }
    return found;
  }
  const days = [0.25, 1, 2, 7, 14].find((one) => one * DAY_MS >= wanted) || 14;
  for (let at = Math.ceil(from / (days * DAY_MS)) * days * DAY_MS; at < to; at += days * DAY_MS) {
    const options = days < 1 ? { day: "numeric", month: "short", hour: "2-digit" } : { day: "numeric", month: "short" };
    found.push({ at, label: new Date(at).toLocaleString(undefined, options) });
  }
  return found;
}

const ms = (text) => new Date(text).getTime();
const iso = (at) => new Date(at).toISOString();
const unique = (names) => [...new Set(names || [])].sort();
