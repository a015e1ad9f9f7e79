// Timeline: when things were said, how long facts were true, and what was true at the cursor. Every bar opens its source.

import { useEffect, useMemo, useRef, useState } from "../vendor/preact-htm.js";
import { read } from "../api.js";
import { activityOf, endOf, named, unitOf } from "../know/time.js";
import { AsOf, Choice, Empty, Head, Trouble, Waiting, addressOf, count, day, html, linkTo, ms, sinceOf, subjectOf, useAsked } from "../parts.js";

const PARTS = 160; // bars of messages
const FACTS = 80; // drawn at most, those that were true longest
const TRUE = 200; // facts read for the cursor
const SLICES = 8; // of the whole range, from each of which some statements are taken
const OF_A_SLICE = 8; // messages
const OF_A_KIND = 200; // statements, of the first and of the last
const ROW = 24; // px of a lane
const NAME = 22; // px of a subject's name above its lanes
const SAID = 54; // px of the message bars
const AXIS = 24; // px
const LETTER = 6.4; // px of a character of a fact
const LABEL = 60; // px of a date
const DAY_MS = 86_400_000;
const SHORTEST_MS = DAY_MS / 24;
const PAUSE_MS = 250; // after the last move before data is loaded
const STEPS = 400; // of the cursor's slider
const [FIRST, LAST] = ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999Z"].map(ms); // the range of times that the service accepts
const KINDS = [["", "Facts and statements"], ["facts", "Facts"], ...["event", "plan", "task", "decision", "attribute", "fact", "preference", "relationship", "habit", "insight", "instruction"].map((one) => [one, `Statements: ${one}`])];

export default function Timeline({ query, me, beats }) {
  const go = addressOf("timeline", [], query);
  const { person = "", wing = "", kind = "" } = query;
  const whole = useAsked((signal) => activityOf({ speaker: person, wing, parts: PARTS }, signal), [person, wing, beats.event, beats.forgotten]);
  const { speakers = [], wings = [] } = whole.value || {};
  const tools = html`<div class="row">
    <${Choice} label="Person" value=${person} options=${[["", "Everyone"], ...speakers]} onChange=${(chosen) => go({ person: chosen })} />
    ${wings.length > 0 && html`<${Choice} label="Wing (person or project)" value=${wing} options=${[["", "All wings (people, projects)"], ...wings]} onChange=${(chosen) => go({ wing: chosen })} />`}
    <${Choice} label="Kind" value=${kind} options=${KINDS} onChange=${(chosen) => go({ kind: chosen })} />
    <${AsOf} at=${query.at} onChange=${(at) => go({ at })} /></div>`;
  return html`<${Head} title="Timeline" tools=${tools}>How long facts were true, and what was true at the cursor.</>
    ${whole.error && html`<${Trouble} error=${whole.error} />`}${!whole.value && whole.busy && html`<${Waiting} />`}
    ${whole.value && (whole.value.events ? html`<${Picture} said=${whole.value} query=${query} go=${go} me=${me} beats=${beats} />` : html`<${Empty} title="Nothing was said">${person || wing || kind ? "No message matches these filters." : html`This memory is empty. <a href="#/add">Put something in.</a>`}</>`)}`;
}

function Picture({ said, query, go, beats }) {
  const { person = "", wing = "", kind = "" } = query;
  const ends = useMemo(() => {
    const [from, to] = [ms(said.begin), Math.max(ms(said.end), Math.min(Date.now(), LAST))];
    const rim = Math.max((to - from) * 0.02, DAY_MS);
    return within([from - rim, to + rim]);
  }, [said.begin, said.end]);
  const asked = useMemo(() => {
    const found = [ms(query.from || ""), ms(query.to || "")];
    return found[1] > found[0] ? within(found) : ends;
  }, [query.from, query.to, ends]);
  const [seen, setSeen] = useState(asked);
  const [width, setWidth] = useState(900);
  const box = useRef();
  useEffect(() => setSeen(asked), [asked]);
  useEffect(() => { // the address follows when the picture rests
    if (seen === asked) return undefined;
    const timer = setTimeout(() => go(seen === ends ? { from: "", to: "" } : { from: iso(seen[0]).slice(0, 16) + "Z", to: iso(seen[1]).slice(0, 16) + "Z" }, true), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [seen]);
  useEffect(() => {
    const watch = new ResizeObserver(([one]) => setWidth(Math.max(280, one.contentRect.width)));
    watch.observe(box.current);
    return () => watch.disconnect();
  }, []);
  const news = [beats.event, beats.statement, beats.forgotten];
  const closer = useAsked((signal) => (asked === ends ? Promise.resolve(said) : read("activity", { speaker: person, wing, since: iso(asked[0]), until: iso(asked[1]), parts: PARTS }, signal)), [asked, said]);
  const stated = kind && kind !== "facts";
  const facts = useAsked((signal) => (stated ? Promise.resolve([]) : held(asked, person, wing, signal)), [asked, person, wing, stated, ...news]);
  const sampled = useAsked((signal) => (kind === "facts" ? Promise.resolve([]) : sample(asked, { speaker: person, wing }, kind, signal)), [asked, person, wing, kind, ...news]);
  const rows = useMemo(() => lanes(facts.value || [], sampled.value || [], stated), [facts.value, sampled.value]);
  const cursor = Math.min(endOf(query.at) ?? Date.now(), LAST);
  const zoom = (factor, at = 0.5) => setSeen(([from, to]) => {
    const middle = from + (to - from) * at;
    const length = Math.min(Math.max((to - from) * factor, SHORTEST_MS), (ends[1] - ends[0]) * 1.5);
    return within([middle - length * at, middle + length * (1 - at)]);
  });
  const move = (share) => setSeen(([from, to]) => within([from + (to - from) * share, to + (to - from) * share]));
  const drawn = useRef({});
  drawn.current = { zoom, move, width };
  useEffect(() => gestures(box.current, drawn), []);
  const x = (at) => ((at - seen[0]) / (seen[1] - seen[0])) * width;
  const height = rows.reduce((sum, row) => sum + NAME + row.depth * ROW + 6, 0) + 6;
  const keys = { "+": () => zoom(0.7), "=": () => zoom(0.7), "-": () => zoom(1.4), ArrowLeft: () => move(-0.15), ArrowRight: () => move(0.15), Home: () => setSeen(ends) };
  const pressed = (event) => {
    if (!keys[event.key] || event.target.tagName === "INPUT") return;
    event.preventDefault();
    keys[event.key]();
  };
  const point = (at) => go({ at: at >= Date.now() ? "" : unitOf(at, true) }, true);
  const inSight = cursor >= seen[0] && cursor <= seen[1];
  let top = 6;
  return html`<div class="timeline">
    <div class="stack tight">
      <div class="time-box" ref=${box} tabindex="0" role="group" aria-label="Timeline. Plus and minus zoom, arrows move, Home shows all." onKeyDown=${pressed}>
        <div class="axis"><svg class="time" height=${AXIS + SAID} viewBox=${`0 0 ${width} ${AXIS + SAID}`} aria-hidden="true">
          ${ticks(seen, width).filter(({ at }) => x(at) >= 0 && x(at) < width - LABEL).map(({ at, label }) => html`<g><line class="grid" x1=${x(at)} x2=${x(at)} y1="0" y2=${AXIS + SAID} /><text x=${x(at) + 4} y="15">${label}</text></g>`)}
          <${Bars} said=${closer.value || said} x=${x} onOpen=${setSeen} />${inSight && html`<line class="cursor" x1=${x(cursor)} x2=${x(cursor)} y1="0" y2=${AXIS + SAID} />`}</svg>
          <input type="range" aria-label="Cursor" min="0" max=${STEPS} value=${Math.round((STEPS * (cursor - seen[0])) / (seen[1] - seen[0]))} aria-valuetext=${query.at ? named(query.at) : "now"} onInput=${(event) => point(seen[0] + ((seen[1] - seen[0]) * Number(event.target.value)) / STEPS)} /></div>
        ${facts.error || sampled.error ? html`<${Trouble} error=${facts.error || sampled.error} />` : !facts.value || !sampled.value ? html`<${Waiting} lines=${2} />` : rows.length === 0 ? html`<p class="quiet pad">No fact or statement of this kind in the visible period.</p>`
          : html`<svg class="time" height=${height} viewBox=${`0 0 ${width} ${height}`} role="group" aria-label="Facts and statements">
          ${ticks(seen, width).filter(({ at }) => x(at) >= 0 && x(at) < width).map(({ at }) => html`<line class="grid" x1=${x(at)} x2=${x(at)} y1="0" y2=${height} />`)}
          ${rows.map((row) => {
            const y = top;
            top += NAME + row.depth * ROW + 6;
            return html`<g><line class="grid" x1="0" x2=${width} y1=${y - 3} y2=${y - 3} /><text class="subject-name" x="6" y=${y + 15}>${row.subject}</text>
              ${row.bars.map((bar) => html`<${Bar} key=${bar.id} bar=${bar} x=${x} y=${y + NAME + bar.lane * ROW} width=${width} cursor=${cursor} />`)}
              ${row.dots.map((dot) => html`<a href=${linkTo.event(dot.event)}><title>${`${day(iso(dot.at))}: ${dot.words}`}</title><circle class="dot" cx=${x(dot.at)} cy=${y + NAME + (row.depth - 0.5) * ROW} r="6" /></a>`)}</g>`;
          })}${inSight && html`<line class="cursor" x1=${x(cursor)} x2=${x(cursor)} y1="0" y2=${height} />`}</svg>`}
      </div>
      <div class="row"><span class="soft small grow" role="status">${day(iso(seen[0]))} to ${day(iso(seen[1]))}: <a href=${`#/browse?what=messages&since=${unitOf(seen[0], true)}&until=${unitOf(seen[1], true)}${person ? `&speaker=${encodeURIComponent(person)}` : ""}`}>${count((closer.value || said).events, "message")}</a>, ${count(facts.value?.length || 0, "fact")}${facts.value?.length === FACTS ? " that were true longest" : ""}${sampled.value?.length ? `, ${count(sampled.value.length, "statement")} taken from the whole period` : ""}.
          ${said.all > said.events && html` Not on the axis: <a href=${`#/browse?what=messages${ms(said.from) < ms(said.begin) ? "&sort=oldest" : ""}`}>${count(said.all - said.events, "message")} from another time</a>.`}</span>
        <button onClick=${() => zoom(0.6)} aria-label="Zoom in">+</button><button onClick=${() => zoom(1.7)} aria-label="Zoom out">−</button><button onClick=${() => setSeen(ends)}>All</button></div>
    </div>
    <${TrueAt} at=${query.at} person=${person} wing=${wing} news=${news} />
  </div>`;
}

/** What was true at the cursor, by subject. */
function TrueAt({ at, person, wing, news }) {
  const end = endOf(at);
  const found = useAsked((signal) => read("facts", { subject: person, wing, as_of: end === undefined ? undefined : iso(end), limit: TRUE }, signal).catch(unknownName({ facts: [] })), [at, person, wing, ...news]);
  const facts = (found.value?.facts || []).filter((one) => (end === undefined ? !one.valid_to : ms(one.said_at) < end));
  const subjects = [...new Set(facts.map((one) => one.subject))];
  return html`<aside class="true-at" aria-labelledby="true-at"><h2 id="true-at">${end === undefined ? "True now" : `True on ${named(at)}`}</h2>
    ${found.value?.next && html`<p class="small quiet">The first ${TRUE} facts by name. Choose a person to see all of theirs.</p>`}
    ${found.error && html`<${Trouble} error=${found.error} />`}${!found.value && found.busy && html`<${Waiting} lines=${2} />`}
    ${found.value && (facts.length ? subjects.map((subject) => html`<div key=${subject}><h3><a class="plain" href=${linkTo.person(subject)}>${subject}</a></h3><ul class="plain-list">${facts.filter((one) => one.subject === subject).map((one) => html`<li key=${one.id}><a class="plain" href=${linkTo.event(one.sources[0]?.event_id)} title=${one.sources[0]?.quote}>${one.relation.replaceAll("_", " ")} <b>${one.object}</b></a></li>`)}</ul></div>`) : html`<p class="quiet">No fact is known for that time.</p>`)}
</aside>`;
}

/** One bar per period with its number of messages. A double click zooms in. */
function Bars({ said, x, onOpen }) {
  if (!said.events) return null;
  const [begin, end] = [ms(said.begin), ms(said.end)];
  const length = (end - begin) / said.counts.length;
  const most = Math.max(...said.counts, 1);
  return said.counts.map((number, place) => {
    if (!number) return null;
    const at = begin + place * length;
    const tall = 4 + (SAID - 8) * Math.sqrt(number / most);
    return html`<rect class="saids" x=${x(at)} y=${AXIS + SAID - tall} width=${Math.max(1.5, x(at + length) - x(at) - 1)} height=${tall} rx="1.5" onDblClick=${() => onOpen([at, at + Math.max(length, SHORTEST_MS)])}>
      <title>${`${count(number, "message")}, ${day(iso(at))}`}</title></rect>`;
  });
}

function Bar({ bar, x, y, width, cursor }) {
  const from = Math.max(-4, x(bar.from));
  const to = Math.min(width + 4, x(bar.to));
  if (to < 0 || from > width) return null;
  const behind = from > width / 2; // put the text on the side with more room
  const words = Array.from(bar.words);
  const fits = Math.max(8, Math.floor((behind ? from - 12 : width - Math.max(6, from + 6)) / LETTER));
  const now = bar.from <= cursor && bar.to > cursor;
  return html`<a href=${linkTo.event(bar.event)} aria-label=${`${bar.words}, ${bar.when}`}><title>${`${bar.words}, ${bar.when}`}</title><rect class=${`fact${bar.over ? " over" : ""}${now ? " now" : ""}`} x=${from} y=${y} width=${Math.max(4, to - from)} height=${ROW - 6} rx="4" />
    <text class="label" x=${behind ? from - 6 : Math.max(6, from + 6)} y=${y + 13} text-anchor=${behind ? "end" : "start"}>${words.length > fits ? `${words.slice(0, fits - 1).join("")}…` : words.join("")}</text></a>`;
}

/** Put facts into lanes, one group for each subject; statements are dots below them. */
function lanes(facts, statements, stated) {
  const rows = new Map();
  const row = (subject) => rows.get(subject) || rows.set(subject, { subject, bars: [], dots: [], depth: 0 }).get(subject);
  for (const fact of [...facts].sort((a, b) => ms(a.valid_from || a.said_at) - ms(b.valid_from || b.said_at))) {
    const group = row(fact.subject);
    const from = ms(fact.valid_from || fact.said_at);
    const when = fact.valid_to ? `${fact.valid_from ? `${day(iso(from))} to` : "until"} ${day(fact.valid_to)}` : sinceOf(fact.valid_from, fact.said_at);
    group.bars.push({ id: fact.id, from, to: fact.valid_to ? ms(fact.valid_to) : LAST, over: Boolean(fact.valid_to), lane: group.bars.length, words: `${fact.relation.replaceAll("_", " ")} ${fact.object}`, when, event: fact.sources[0]?.event_id });
    group.depth = group.bars.length;
  }
  for (const one of statements) {
    const group = stated || rows.has(one.about) ? row(subjectOf(one) || "Other") : row("Other statements");
    group.dots.push({ at: one.at, words: one.content, event: one.event_id });
  }
  for (const group of rows.values()) if (group.dots.length) group.depth += 1;
  return [...rows.values()].sort((a, b) => (a.subject === "Other statements") - (b.subject === "Other statements") || b.bars.length - a.bars.length || a.subject.localeCompare(b.subject));
}

/** Zoom by pinch or by Ctrl and the wheel, move by drag. `drawn` holds the current functions. */
function gestures(box, drawn) {
  const down = new Map(); // x positions of the pointers that are down
  let travelled = 0; // px since the pointer went down
  const place = (at) => (at - box.getBoundingClientRect().left) / drawn.current.width;
  const apart = () => {
    const [one, two] = [...down.values()];
    return Math.max(8, Math.abs(one - two));
  };
  const wheel = (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    drawn.current.zoom(event.deltaY > 0 ? 1.2 : 1 / 1.2, place(event.clientX));
  };
  const press = (event) => {
    travelled = 0;
    if (event.target.tagName !== "INPUT") down.set(event.pointerId, event.clientX);
  };
  const moved = (event) => {
    if (!down.has(event.pointerId)) return;
    const before = down.size === 2 ? apart() : 0;
    const by = down.get(event.pointerId) - event.clientX;
    down.set(event.pointerId, event.clientX);
    travelled += Math.abs(by);
    if (down.size === 2) drawn.current.zoom(before / apart(), place([...down.values()].reduce((a, b) => a + b) / 2));
    else drawn.current.move(by / drawn.current.width);
  };
  const up = (event) => down.delete(event.pointerId);
  const click = (event) => { // the end of a drag opens nothing
    if (travelled > 4) event.preventDefault();
  };
  const drag = (event) => event.preventDefault(); // links are not dragged away
  box.addEventListener("wheel", wheel, { passive: false });
  box.addEventListener("pointerdown", press);
  box.addEventListener("click", click, true);
  box.addEventListener("dragstart", drag);
  const follow = { pointermove: moved, pointerup: up, pointercancel: up };
  for (const [name, action] of Object.entries(follow)) addEventListener(name, action);
  return () => {
    for (const [name, action] of Object.entries(follow)) removeEventListener(name, action);
  };
}

/** A speaker may be no known entity: then there is nothing, not an error. */
const unknownName = (nothing) => (error) => {
  if (error.status === 404) return nothing;
  throw error;
};

/** Load the facts that were true for most of the visible period. */
const held = ([since, until], subject, wing, signal) => read("held", { since: iso(since), until: iso(until), subject, wing, limit: FACTS }, signal).catch(unknownName({ facts: [] })).then((found) => found.facts);

/** Read statements of the whole period: from messages of each part of it. Of a kind, which may be rare, also the first
 *  and the last ones that there are. */
async function sample([begin, end], which, kind, signal) {
  const length = (end - begin) / SLICES;
  const slices = Array.from({ length: SLICES }, (_, at) => ({ ...which, since: iso(begin + at * length), until: iso(begin + (at + 1) * length), limit: OF_A_SLICE }));
  const listed = kind ? [true, false].map((newest_first) => read("statements", { kind, about: which.speaker, wing: which.wing, status: "any", newest_first, limit: OF_A_KIND }, signal)) : [];
  const pages = await Promise.all(slices.map((one) => read("events", one, signal)));
  const events = pages.flatMap((page) => page.events.filter((event) => !event.record).map((event) => event.id));
  const { versions } = events.length ? await read("history", { events }, signal) : { versions: [] };
  const taken = new Set(events);
  const found = [
    ...versions.filter(({ statement }) => taken.has(statement.event_id) && (!kind || statement.kind === kind)).map(({ statement, said_at }) => ({ ...statement, at: ms(statement.date?.start || said_at) })),
    ...(await Promise.all(listed)).flatMap((page) => page.statements).map((one) => ({ ...one, at: ms(one.date?.start || one.valid_from || one.recorded_at) })),
  ];
  return [...new Map(found.map((one) => [one.id, one])).values()].filter((one) => one.status !== "retracted" && one.at >= begin && one.at < end);
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
