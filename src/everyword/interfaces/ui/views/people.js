// People and things: a list, and a page for each with what holds now, how it came about, quotes and relations.

import { useEffect, useMemo, useRef, useState } from "../vendor/preact-htm.js";
import { read } from "../api.js";
import { Menu, Message, Read, editorOf } from "../events.js";
import { endOf, named } from "../know/time.js";
import { AsOf, Choice, Empty, Head, Paged, Search, Trouble, Waiting, addressOf, begun, count, day, html, isNamed, linkTo, ms, overlay, sinceOf, useAsked } from "../parts.js";

const AT_ONCE = 60; // names per page
const STATED = 200; // statements about one person that are read
const QUOTES = { own: 3, others: 3 }; // the last messages of a person, and messages that name them
const NAMES = 4; // of one person, under which statements are looked for
const SURE = { fact: 0.5, statement: 0.7 }; // confidence from which something is shown without being asked for
const SHOWN = 6; // entries of a subject before "Show more"
const TYPES = [["", "Everyone and everything"], ["person", "People"], ["organisation", "Organisations"], ["project", "Projects"], ["place", "Places"], ["thing", "Things"], ["topic", "Topics"]];

// What holds now, by subject. Facts go by their relation, statements by their category.
const SUBJECTS = [
  { title: "Home", relations: ["lives_in", "comes_from", "born_in", "located_in", "rent", "owns_pet", "owns"], categories: [] },
  { title: "Work and study", relations: ["works_at", "has_role", "member_of", "studies_at", "studies", "salary"], categories: ["work_career", "learning"] },
  { title: "People", relations: ["married_to", "partner_of", "parent_of", "sibling_of", "relative_of", "friend_of", "colleague_of", "knows", "reports_to"], categories: ["relationships"] },
  { title: "Projects and plans", relations: ["works_on", "leads", "uses", "budget", "deadline", "version"], categories: ["plans_goals"] },
  { title: "Likes and habits", relations: ["likes", "dislikes", "allergic_to", "diet", "does", "speaks"], categories: ["preferences", "interests", "lifestyle", "wellness"] },
  { title: "Other", relations: [], categories: [] },
];
const PAST = ["visited", "founded", "decided", "did"]; // relations that are over once they happened
const BOTH_WAYS = ["married_to", "partner_of", "sibling_of", "relative_of", "friend_of", "colleague_of", "knows"];
const NOT_NOW = ["event", "insight"]; // kinds of statements that do not last

export default function People({ rest, query, me, beats }) {
  return rest[0] ? html`<${Person} key=${rest[0]} name=${rest[0]} query=${query} me=${me} beats=${beats} />` : html`<${All} query=${query} beats=${beats} />`;
}

function All({ query, beats }) {
  const go = addressOf("people", [], query);
  const empty = html`<${Empty} title=${query.q || query.type ? "Nobody and nothing matches" : "Nobody is known yet"}>${query.q || query.type ? "Try the beginning of a name, or another kind." : "People, places and projects are listed when they are named."}</>`;
  return html`<${Head} title="People and things">Everyone and everything that was named, the most mentioned first.</>
    <div class="stack"><div class="row"><div class="grow"><${Search} label="Find a name" value=${query.q || ""} placeholder="The beginning of a name" onChange=${(q) => go({ q }, Boolean(query.q))} /></div>
      <${Choice} label="Kind" value=${query.type || ""} options=${TYPES} onChange=${(type) => go({ type })} /></div>
      <div class="names"><${Paged} key=${beats.forgotten} operation="entities" parameters=${{ prefix: query.q, type: query.type, limit: AT_ONCE }} item=${(one) => html`<${Name} entity=${one} />`} empty=${empty} /></div></div>`;
}

function Name({ entity }) {
  return html`<a class="name card" href=${linkTo.person(entity.name)}><b dir="auto">${entity.name}</b><span class="small quiet">${entity.type}</span><span class="small quiet tabular">${count(entity.events, "message")}${entity.last_at ? `, last ${day(entity.last_at)}` : ""}</span></a>`;
}

function Person({ name, query, me, beats }) {
  const go = addressOf("people", [name], query);
  const [round, setRound] = useState(0);
  const news = [round, beats.event, beats.statement, beats.forgotten];
  const found = useAsked((signal) => known(name, me, signal), [name, ...news]);
  const end = endOf(query.at);
  const changed = () => setRound((before) => before + 1);
  const crumbs = html`<p class="crumbs"><a href="#/people">People and things</a> ›</p>`;
  if (found.error?.status === 404) return html`${crumbs}<${Head} title=${name} /><${Empty} title="Nobody and nothing of this name is known">It may be written in another way. <a href="#/people">See all names</a>.</>`;
  if (found.error) return html`${crumbs}<${Head} title=${name} /><${Trouble} error=${found.error} />`;
  if (!found.value) return html`${crumbs}<${Head} title=${name} /><${Waiting} />`;
  const { entity, facts, statements, quotes } = found.value;
  const aliases = entity.aliases.filter((one, place, all) => [entity.name, ...all.slice(0, place)].every((other) => other.toLowerCase() !== one.toLowerCase()));
  const sub = [entity.type, aliases.length && `also ${aliases.join(", ")}`, count(entity.events, "message"), entity.first_at && `${day(entity.first_at)} to ${day(entity.last_at)}`].filter(Boolean).join(" · ");
  const groups = holding(entity, facts, statements, end ?? Infinity);
  const past = history(entity, facts, statements, end ?? Infinity);
  const tools = html`<div class="row"><a href=${`#/know?q=${encodeURIComponent(`What about ${entity.name}?`)}`}>Ask about ${entity.name}</a><${AsOf} at=${query.at} onChange=${(at) => go({ at })} /></div>`;
  return html`${crumbs}<${Head} title=${entity.name} tools=${tools}>${sub}</>
    <div class="person">
      <section aria-labelledby="now"><h2 id="now">${end === undefined ? "What holds now" : `What held on ${named(query.at)}`}</h2>
        ${groups.length ? groups.map((group) => html`<${Subject} key=${group.title} group=${group} me=${me} onChanged=${changed} />`) : html`<p class="quiet">Nothing is known that still holds.</p>`}</section>
      <div class="stack"><section aria-labelledby="related"><h2 id="related">Related</h2><${Ego} entity=${entity} facts=${facts.filter((one) => holds(one, end ?? Infinity))} /></section>
        <section aria-labelledby="before"><h2 id="before">History</h2>${past.length ? html`<${Past} entries=${past} me=${me} onChanged=${changed} />` : html`<p class="quiet">Nothing has changed or happened yet.</p>`}</section>
        <section aria-labelledby="quotes"><h2 id="quotes">Quotes</h2><div class="chat">${quotes.length ? quotes.map((one) => html`<${Message} key=${one.event.id} event=${one.event} span=${one.span} apart me=${me} onChanged=${changed} onEdited=${changed} />`) : html`<p class="quiet">No message names ${entity.name}.</p>`}</div></section></div>
    </div>`;
}

/** Read what is known about a person or thing. */
async function known(name, me, signal) {
  const entity = await read("entity", { name }, signal);
  const names = [...new Map([entity.name, ...entity.aliases].map((one) => [one.toLowerCase(), one])).values()].slice(0, NAMES);
  const stated = me.operations.includes("statements") ? names.map((about) => read("statements", { about, status: "any", newest_first: true, limit: STATED }, signal)) : [];
  const [facts, found, own, ...lists] = await Promise.all([read("timeline", { entity: entity.id, limit: 1000 }, signal), read("glance", { query: entity.name, k: 20 }, signal), Promise.all(names.map((speaker) => read("events", { speaker, newest_first: true, limit: QUOTES.own }, signal))), ...stated]);
  const said = own.flatMap((page) => page.events).filter((event) => !event.record).sort((a, b) => ms(b.at) - ms(a.at)).slice(0, QUOTES.own).map((event) => ({ event }));
  const mentions = found.hits.filter(({ event }) => names.some((one) => isNamed(event.text, one)) && !said.some((one) => one.event.id === event.id)).slice(0, QUOTES.others);
  return { entity, facts: facts.timeline, statements: lists.flatMap((one) => one.statements), quotes: [...mentions, ...said] };
}

const holds = ({ relation, valid_from, valid_to, said_at }, at) => !PAST.includes(relation) && ms(said_at) < at && (!valid_from || ms(valid_from) < at) && (!valid_to || ms(valid_to) >= at) && !(at === Infinity && valid_to);

/** Word a fact as seen from one of its two ends. */
function worded(entity, { subject, subject_id, relation, object }) {
  const verb = relation.replaceAll("_", " ");
  if (subject_id === entity.id) return { verb, value: object };
  return BOTH_WAYS.includes(relation) ? { verb, value: subject } : { verb: "", value: `${subject} ${verb} ${object}` };
}

/** Sort what held at a time into subjects. A statement that a fact was read from is not told twice. */
function holding(entity, facts, statements, at) {
  const groups = SUBJECTS.map((one) => ({ title: one.title, entries: [] }));
  const told = new Set();
  for (const fact of facts.filter((one) => holds(one, at))) {
    const source = fact.sources[0];
    fact.sources.forEach((one) => told.add(one.event_id + one.span[0]));
    const found = SUBJECTS.findIndex((one) => one.relations.includes(fact.relation)); // -1 is the last: other
    groups.at(found).entries.push({ id: fact.id, ...worded(entity, fact), since: fact.valid_from || fact.said_at, begun: sinceOf(fact.valid_from, fact.said_at), quote: source?.quote, event: source?.event_id, confidence: fact.confidence, fact: true, other: fact.subject_id === entity.id ? fact.object_id && fact.object : fact.subject });
  }
  const current = (one) => !NOT_NOW.includes(one.kind) && one.valid_from && ms(one.valid_from) < at && (at === Infinity ? one.status === "current" && !one.valid_to : !one.valid_to || ms(one.valid_to) >= at) && one.status !== "retracted" && !(one.date && ms(one.date.end || one.date.start) < Math.min(at, Date.now()));
  for (const one of statements.filter(current)) {
    if (told.has(one.event_id + one.span[0])) continue;
    const found = SUBJECTS.findIndex((subject) => subject.categories.includes(one.category) || subject.relations.includes(one.slot?.attribute));
    groups.at(found).entries.push({ id: one.id, verb: "", value: one.content.replace(/^[^:]{1,40}: /, ""), since: one.valid_from, begun: one.extractor === "by hand" ? day(one.valid_from) : begun(one), quote: one.extractor === "by hand" ? undefined : one.quote, event: one.event_id, confidence: one.confidence, edited: one.extractor === "by hand" && one.speaker });
  }
  for (const group of groups) group.entries.sort((a, b) => Number(b.fact || false) - Number(a.fact || false) || ms(b.since) - ms(a.since));
  return groups.filter((group) => group.entries.length);
}

/** What ended or happened, the latest first. */
function history(entity, facts, statements, at) {
  const over = facts.filter((one) => ms(one.said_at) < at && (PAST.includes(one.relation) || (one.valid_to && ms(one.valid_to) < at)));
  const events = statements.filter((one) => one.kind === "event" && one.status !== "retracted" && one.confidence >= SURE.statement && ms(one.valid_from || one.recorded_at) < at);
  const told = new Set(over.flatMap((one) => one.sources.map((source) => source.event_id + source.span[0])));
  return [
    ...over.map((one) => ({ id: one.id, ...worded(entity, one), from: one.valid_from || (PAST.includes(one.relation) ? one.said_at : undefined), to: PAST.includes(one.relation) ? undefined : one.valid_to, quote: one.sources[0]?.quote, event: one.sources[0]?.event_id })),
    ...events.filter((one) => !told.has(one.event_id + one.span[0])).map((one) => ({ id: one.id, verb: "", value: one.content.replace(/^[^:]{1,40}: /, ""), from: one.valid_from || one.recorded_at, event: one.event_id })),
  ].sort((a, b) => ms(b.to || b.from) - ms(a.to || a.from));
}

function Subject({ group, me, onChanged }) {
  const isSure = (one) => one.edited || one.confidence >= (one.fact ? SURE.fact : SURE.statement);
  const [sure, unsure] = [group.entries.filter(isSure), group.entries.filter((one) => !isSure(one))];
  const [all, setAll] = useState(false);
  const shown = all ? sure : sure.slice(0, SHOWN);
  const line = (one) => html`<li key=${one.id}><${Holding} entry=${one} me=${me} onChanged=${onChanged} /></li>`;
  return html`<div class="subject"><h3>${group.title}</h3><ul class="plain-list">${shown.map(line)}</ul>
    ${sure.length > shown.length && html`<button class="plain small" onClick=${() => setAll(true)}>Show ${sure.length - shown.length} more</button>`}
    ${unsure.length > 0 && html`<details class="small"><summary class="quiet">${unsure.length} less certain</summary><ul class="plain-list">${unsure.map(line)}</ul></details>`}</div>`;
}

function Holding({ entry, me, onChanged }) {
  const correct = () => overlay(html`<${Source} id=${entry.event} me=${me} onClose=${() => overlay()} onChanged=${onChanged} />`);
  return html`<div class="holding"><div><p dir="auto">${entry.verb && `${entry.verb} `}${entry.other ? html`<a href=${linkTo.person(entry.other)}><b>${entry.value}</b></a>` : entry.fact ? html`<b>${entry.value}</b>` : entry.value}
      <span class="small quiet"> <a class="quiet" href=${linkTo.event(entry.event)}>${entry.begun}</a>${entry.edited ? `, edited by ${editorOf(me)(entry.edited)}` : ""}</span></p>
    ${entry.quote && entry.quote !== entry.value && html`<p class="said small" dir="auto">“${entry.quote}”</p>`}</div>
    <${Menu} label=${`Actions for ${entry.value}`}>
      ${me.operations.includes("history") && html`<button onClick=${correct}>Correct …</button>`}
      <a href=${linkTo.event(entry.event)}>Show where it was said</a></></div>`;
}

/** The edits of what was read from a message, given its id. */
function Source({ id, ...rest }) {
  const found = useAsked((signal) => read("show", { id }, signal), [id]);
  if (found.error) return html`<${Trouble} error=${found.error} />`;
  return found.value ? html`<${Read} event=${found.value} ...${rest} />` : null;
}

function Past({ entries }) {
  const [all, setAll] = useState(false);
  const shown = all ? entries : entries.slice(0, SHOWN);
  return html`<ol class="plain-list past">${shown.map((one) => html`<li key=${one.id}><span class="small quiet tabular">${spanned(one)}</span>
      <a class="plain" href=${linkTo.event(one.event)} dir="auto">${one.verb && `${one.verb} `}${one.verb ? html`<b>${one.value}</b>` : one.value}</a></li>`)}</ol>
    ${entries.length > shown.length && html`<button class="plain small" onClick=${() => setAll(true)}>Show ${entries.length - shown.length} more</button>`}`;
}

/** The days from and to which something was true; one day is told once. */
function spanned({ from, to }) {
  if (!to) return from ? day(from) : "";
  if (!from) return `until ${day(to)}`;
  return day(from) === day(to) ? day(from) : `${day(from)} to ${day(to)}`;
}

const SLOTS = { wide: 10, narrow: 6 }; // places around the centre
const NARROW = 480; // px
const EDGE = 34; // px above and below the names
const LONG = 22; // letters of a name in the picture
const LISTED = 12; // names below the picture before "more"

/** Who and what is directly related, as a small picture. A name keeps its place while others come and go. */
function Ego({ entity, facts }) {
  const box = useRef();
  const [width, setWidth] = useState(0);
  const [all, setAll] = useState(false);
  useEffect(() => {
    const watch = new ResizeObserver(([one]) => setWidth(one.contentRect.width));
    watch.observe(box.current);
    return () => watch.disconnect();
  }, []);
  const others = useMemo(() => neighbours(entity, facts), [entity, facts]);
  const slots = width < NARROW ? SLOTS.narrow : SLOTS.wide;
  const height = others.length < 4 ? 190 : 310;
  const [cx, cy, rx, ry] = [width / 2, height / 2, Math.max(60, width / 2 - 70), height / 2 - EDGE];
  const shown = placed(others, slots).map((one) => {
    const angle = (2 * Math.PI * one.slot) / slots - Math.PI / 2;
    return { ...one, x: cx + rx * Math.cos(angle), y: cy + ry * Math.sin(angle) };
  });
  const drawn = new Set(shown.map((one) => one.id));
  const [top, bottom] = [Math.min(cy, ...shown.map((one) => one.y)) - EDGE, Math.max(cy, ...shown.map((one) => one.y)) + EDGE];
  const rest = others.filter((one) => !drawn.has(one.id));
  return html`<div ref=${box} class="ego">${!others.length ? html`<p class="quiet">No relation to another person or thing is known.</p>` : width > 0 && html`<svg width=${width} height=${bottom - top} viewBox=${`0 ${top} ${width} ${bottom - top}`} role="group" aria-label=${`${entity.name} and ${count(shown.length, "related name")}`}>
      ${shown.map((one) => html`<line x1=${cx} y1=${cy} x2=${one.x} y2=${one.y} />`)}
      ${shown.map((one) => html`<${Label} ...${between({ x: cx, y: cy, name: entity.name }, one)} text=${one.relation} kind="relation" />`)}
      <${Label} x=${cx} y=${cy} text=${entity.name} kind="centre" />
      ${shown.map((one) => html`<a href=${linkTo.person(one.name)}><${Label} x=${one.x} y=${one.y} text=${one.name} kind="other" /></a>`)}</svg>
      ${rest.length > 0 && html`<p class="small quiet">and ${rest.slice(0, all ? rest.length : LISTED).map((one) => one.name).join(", ")}${rest.length > LISTED && !all ? html` <button class="link" onClick=${() => setAll(true)}>and ${rest.length - LISTED} more</button>` : ""}</p>`}`}</div>`;
}

const cut = (text) => (Array.from(text).length > LONG ? `${Array.from(text).slice(0, LONG - 1).join("")}…` : text);
const widthOf = (name) => Array.from(cut(name)).length * 7.4 + 20;

/** The middle of the visible part of a line between two names. */
function between(one, other) {
  const [dx, dy] = [other.x - one.x, other.y - one.y];
  const far = Math.hypot(dx, dy) || 1;
  const covered = (name) => Math.min(widthOf(name) / 2 / Math.max(0.01, Math.abs(dx) / far), 14 / Math.max(0.01, Math.abs(dy) / far));
  const share = (covered(one.name) + far - covered(other.name)) / 2 / far;
  return { x: one.x + dx * share, y: one.y + dy * share };
}

function Label({ x, y, text, kind }) {
  const words = cut(text);
  const wide = kind === "relation" ? Array.from(words).length * 6.6 + 10 : widthOf(text);
  const tall = kind === "relation" ? 16 : 28;
  return html`<g class=${kind}><title>${text}</title><rect x=${x - wide / 2} y=${y - tall / 2} width=${wide} height=${tall} rx=${tall / 2} /><text x=${x} y=${y + 4} text-anchor="middle">${words}</text></g>`;
}

function neighbours(entity, facts) {
  const found = new Map();
  for (const fact of facts) {
    const [id, name] = fact.subject_id === entity.id ? [fact.object_id, fact.object] : [fact.subject_id, fact.subject];
    if (!id || id === entity.id) continue;
    const words = fact.relation.replaceAll("_", " ");
    if (found.has(id)) found.get(id).relations.add(words);
    else found.set(id, { id, name, relations: new Set([words]) });
  }
  return [...found.values()].map((one) => ({ ...one, relation: [...one.relations].join(", ") }));
}

/** Give each its place: by its id, or the next free one. */
function placed(others, slots) {
  const taken = new Map();
  for (const one of [...others].sort((a, b) => a.id.localeCompare(b.id)).slice(0, slots)) {
    let slot = parseInt(one.id.slice(-6), 16) % slots;
    while (taken.has(slot)) slot = (slot + 1) % slots;
    taken.set(slot, { ...one, slot });
  }
  return [...taken.values()];
}
