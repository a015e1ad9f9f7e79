// Conversations, messages and statements: search, filters, sort. A hit opens its conversation at the line.

import { useEffect, useRef, useState } from "../vendor/preact-htm.js";
import { read } from "../api.js";
import { Message, editorOf } from "../events.js";
import { Lanes, lanesOf } from "../know/lanes.js";
import { endOf } from "../know/time.js";
import { AsOf, Choice, Dialog, Empty, Head, Long, Paged, Search, Trouble, Waiting, addressOf, begun, count, day, html, linkTo, moment, ms, subjectOf, useAsked } from "../parts.js";

const AT_ONCE = 50; // rows per page
const SESSIONS = 30; // conversations per page: each has a summary to read
const FOUND = 100; // messages of a search
const ORDERS = ["oldest", "longest"]; // of conversations, besides the latest first
const AROUND = 25; // messages shown before the marked one
const QUOTED = 2; // sentences of a conversation, the most central first
const HITS = 3; // of one conversation
const WHAT = [["", "Conversations"], ["messages", "Messages"], ["statements", "Statements"]];
const KINDS = ["attribute", "fact", "preference", "relationship", "habit", "event", "plan", "task", "decision", "insight", "instruction"];
const STATUSES = [["", "True now"], ["superseded", "Replaced by a later one"], ["retracted", "Over or taken back"], ["any", "All"]];
const SOURCES = [["", "Any source"], ["user", "People"], ["assistant", "Assistants"], ["import", "Imported"], ["tool", "Tools"], ["web", "Web pages"]];
const WING = "A wing is a person or project inside this memory.";

export default function Browse({ rest, query, me, beats }) {
  if (rest[0] === "session" && rest[1]) return html`<${Conversation} key=${rest[1]} name=${rest[1]} query=${query} me=${me} beats=${beats} />`;
  if (rest[0] === "event" && rest[1]) return html`<${Alone} key=${rest[1]} id=${rest[1]} me=${me} />`;
  return html`<${Lists} query=${query} me=${me} beats=${beats} />${rest[0] === "statement" && rest[1] && html`<${Story} key=${rest[1]} id=${rest[1]} query=${query} me=${me} />`}`;
}

function Lists({ query, me, beats }) {
  const go = addressOf("browse", [], query);
  const what = WHAT.some(([one]) => one === query.what) ? query.what : "";
  const activity = useAsked((signal) => read("activity", { parts: 1 }, signal), [beats.event, beats.forgotten]);
  const { speakers = [], wings = [] } = activity.value || {};
  const stated = what === "statements";
  const filters = ["speaker", "wing", "kind", "status", "source", "since", "until", "q", "at", "about"].filter((name) => query[name]);
  const clear = () => go(Object.fromEntries(filters.map((name) => [name, ""])));
  const shown = { ...query, what };
  return html`<${Head} title="Browse" tools=${html`<${AsOf} at=${query.at} onChange=${(at) => go({ at })} />`}>Everything that was said, and what was read from it.</>
    <div class="stack browse">
      <div class="row" role="group" aria-label="What to list">${WHAT.map(([name, title]) => html`<button aria-pressed=${what === name} onClick=${() => go({ what: name })}>${title}</button>`)}
        <div class="grow"><${Search} label="Search" value=${query.q || ""} placeholder="Search by words" onChange=${(q) => go({ q }, Boolean(query.q))} /></div></div>
      <div class="row filters" role="group" aria-label="Filters">
        ${!stated && speakers.length > 0 && html`<${Choice} label="Speaker" value=${query.speaker || ""} options=${[["", "Everyone"], ...speakers]} onChange=${(speaker) => go({ speaker })} />`}
        ${stated && speakers.length > 0 && html`<${Choice} label="About" value=${query.about || ""} options=${[["", "About anyone"], ...new Set([...speakers, query.about].filter(Boolean))]} onChange=${(about) => go({ about })} />`}
        ${wings.length > 0 && html`<span title=${WING}><${Choice} label="Wing (person or project)" value=${query.wing || ""} options=${[["", "All wings (people, projects)"], ...wings]} onChange=${(wing) => go({ wing })} /></span>`}
        ${stated && html`<${Choice} label="Kind" value=${query.kind || ""} options=${[["", "Any kind"], ...KINDS]} onChange=${(kind) => go({ kind })} />
          <${Choice} label="Status" value=${query.status || ""} options=${STATUSES} onChange=${(status) => go({ status })} />`}
        ${!stated && (what || query.q) && html`<${Choice} label="Source" value=${query.source || ""} options=${SOURCES} onChange=${(source) => go({ source })} />`}
        ${!stated && html`<label class="small soft">from <input type="date" aria-label="From" value=${query.since || ""} onChange=${(event) => go({ since: event.target.value })} /></label>
          <label class="small soft">to <input type="date" aria-label="To" value=${query.until || ""} onChange=${(event) => go({ until: event.target.value })} /></label>`}
        ${!query.q && html`<${Choice} label="Sort" value=${query.sort || ""} options=${what ? [["", "Newest first"], ["oldest", "Oldest first"]] : [["", "Latest first"], ["oldest", "Oldest first"], ["longest", "Longest first"]]} onChange=${(sort) => go({ sort })} />`}
        ${filters.length > 0 && html`<button class="plain small" onClick=${clear}>Clear filters</button>`}
      </div>
      ${activity.error && html`<${Trouble} error=${activity.error} />`}
      ${activity.value && !activity.value.events ? html`<${Empty} title="This memory is empty"><a href="#/add">Put something in</a>, and it is listed here.</>`
        : query.q ? html`<${Found} shown=${shown} me=${me} beats=${beats} />`
          : stated ? html`<${Statements} shown=${shown} me=${me} beats=${beats} />`
            : what === "messages" ? html`<${Messages} shown=${shown} me=${me} beats=${beats} />` : html`<${Sessions} shown=${shown} beats=${beats} />`}
    </div>`;
}

/** The filters that messages and conversations share. What was said on the last day counts. */
function filtersOf({ speaker, wing, source, since, until, at }) {
  const ends = [until, at].map(endOf).filter((end) => end !== undefined);
  const from = endOf(since) === undefined ? undefined : new Date(`${since}T00:00`).toISOString();
  return { speaker, wing, source, since: from, until: ends.length ? new Date(Math.min(...ends)).toISOString() : undefined };
}

const nothing = (what) => html`<${Empty} title=${`No ${what} match`}>Change or clear the filters to see more.</>`;
const noSessions = html`<${Empty} title="No conversations">Nothing was said in a conversation yet. What stands alone is listed under <a href="#/browse?what=messages">Messages</a>.</>`;

function Sessions({ shown, beats }) {
  const { speaker, wing, since, until } = filtersOf(shown);
  const item = (one) => html`<${Session} session=${one} />`;
  const order = ORDERS.includes(shown.sort) ? shown.sort : undefined;
  return html`<${Paged} key=${beats.forgotten} operation="sessions" parameters=${{ speaker, wing, since, until, order, limit: SESSIONS }} item=${item} empty=${speaker || wing || since || until ? nothing("conversations") : noSessions} />`;
}

function Session({ session }) {
  const written = (session.written || []).map((one) => one.text).join(" "); // by an LLM; without one, quotes
  const said = written ? [] : (session.summary || []).slice(0, QUOTED);
  return html`<article class="card hit compact">
    <div class="row"><h3 class="grow"><a href=${linkTo.session(session.name)} dir="auto">${session.name}</a></h3><span class="small quiet tabular">${span(session)} · ${count(session.events, "message")}</span></div>
    ${written && html`<p class="said" dir="auto">${written}</p>`}
    ${said.map((theme) => html`<p class="said"><a class="plain" href=${linkTo.session(session.name, theme.event_id)} dir="auto">“${theme.text}”</a></p>`)}
    <div class="meta"><span>${session.speakers.join(", ")}</span>${(session.keys || []).map((key) => html`<span class="tag">${key}</span>`)}</div>
  </article>`;
}

function Messages({ shown, me, beats }) {
  const [round, setRound] = useState(0);
  const parameters = { ...filtersOf(shown), newest_first: shown.sort !== "oldest", limit: AT_ONCE };
  return html`<${Paged} key=${`${round} ${beats.forgotten}`} operation="events" parameters=${parameters} empty=${nothing("messages")}
    item=${(one) => html`<${Message} event=${one} apart me=${me} onChanged=${() => setRound(round + 1)} />`} />`;
}

/** Tell whether a statement held at the end of a day. One that says that something is over has no begin. */
const heldAt = (end) => ({ valid_from, valid_to }) => valid_from && ms(valid_from) < end && (!valid_to || ms(valid_to) >= end);

function Statements({ shown, me, beats }) {
  const { about, wing, kind, status } = shown;
  const end = endOf(shown.at);
  const parameters = { about, wing, kind, status: end === undefined ? status || "current" : "any", newest_first: shown.sort !== "oldest", limit: AT_ONCE };
  return html`<${Paged} key=${`${shown.at} ${beats.forgotten}`} operation="statements" parameters=${parameters} keep=${end === undefined ? undefined : heldAt(end)}
    item=${(one) => html`<${Statement} statement=${one} me=${me} />`} empty=${nothing("statements")} />`;
}

function Statement({ statement, me }) {
  const about = subjectOf(statement);
  const { speaker, extractor, date, status, stance } = statement;
  const byHand = extractor === "by hand";
  const who = byHand ? `edited by ${editorOf(me)(speaker)}` : speaker && speaker !== about ? `said by ${speaker}` : "";
  return html`<article class="card hit compact">
    <div class="row"><a class="grow" href=${linkTo.statement(statement.id)} dir="auto">${plain(statement)}</a>${status === "superseded" && html`<span class="tag">replaced later</span>`}${status === "retracted" && stance !== "ended" && html`<span class="tag">${isNever(statement) ? "never true" : "over"}</span>`}<span class="tag on">${statement.kind}</span></div>
    ${!byHand && statement.quote !== plain(statement) && html`<p class="said" dir="auto">“${statement.quote}”</p>`}
    <div class="meta">${about && html`<a href=${linkTo.person(about)}>${about}</a>`}${date && html`<span>“${date.words}” = ${day(date.start)}</span>`}<span>${heldWhen(statement, who)}</span>
      <a href=${linkTo.event(statement.event_id)}>source</a></div>
  </article>`;
}

const isNever = ({ status, valid_from, valid_to }) => status === "retracted" && valid_from && valid_to && ms(valid_to) <= ms(valid_from);

/** Say who said a statement, and when it held. One that says that something is over has no begin. */
function heldWhen(statement, who) {
  const { valid_from, valid_to } = statement;
  const from = valid_from ? begun(statement) : valid_to && `since ${day(valid_to)}`;
  const until = valid_from && valid_to && !isNever(statement) && `until ${day(valid_to)}`;
  return [who && from?.startsWith("said ") ? `${who}, ${from.slice(5)}` : [who, from].filter(Boolean).join(", "), until].filter(Boolean).join(", ");
}

/** What a search finds: by the words of messages. Statements are those read from the messages found. */
function Found({ shown, me, beats }) {
  const [round, setRound] = useState(0);
  const { what, q, kind, status, about } = shown;
  const which = filtersOf(what === "statements" ? { ...shown, speaker: "", source: "", since: "", until: "" } : shown);
  const asked = JSON.stringify([what, q, which]);
  const found = useAsked(async (signal) => {
    const { hits } = await read("glance", { query: q, k: FOUND, ...which }, signal);
    const versions = what === "statements" && hits.length ? (await read("history", { events: hits.map((hit) => hit.event.id) }, signal)).versions : [];
    return { what, hits, versions };
  }, [asked, round, beats.event, beats.forgotten]);
  if (found.error) return html`<${Trouble} error=${found.error} />`;
  if (!found.value || found.value.what !== what) return html`<${Waiting} />`;
  const { hits, versions } = found.value;
  const among = hits.length < FOUND ? ", best match first." : `${what === "messages" ? ", the best matches" : ` of the ${FOUND} messages that match best`}. Narrow the search to see others.`;
  const told = (number, name) => html`<p class="soft small" role="status">${number ? `${count(number, name)}${among}` : ""}</p>`;
  if (what === "statements") {
    const ids = new Set(hits.map((hit) => hit.event.id));
    const fits = (one) => ids.has(one.event_id) && (!kind || one.kind === kind) && (!about || one.about === about) && (status === "any" || one.status === (status || "current"));
    const items = versions.map((one) => one.statement).filter(fits);
    return items.length ? html`${told(items.length, "statement")}<${Long} items=${items} item=${(one) => html`<${Statement} statement=${one} me=${me} />`} />` : nothing("statements");
  }
  if (!hits.length) return nothing(what || "conversations");
  const row = (hit, apart = true) => html`<${Message} event=${hit.event} span=${hit.span} apart=${apart} me=${me} onChanged=${() => setRound(round + 1)} />`;
  if (what === "messages") return html`${told(hits.length, "message")}<${Long} items=${hits.map((hit) => ({ ...hit, id: hit.event.id }))} item=${(hit) => row(hit)} />`;
  const sessions = Map.groupBy ? Map.groupBy(hits, (hit) => hit.event.session || "") : grouped(hits, (hit) => hit.event.session || "");
  const items = [...sessions].map(([name, some]) => ({ name, some }));
  return html`${told(items.length, "conversation")}<${Long} items=${items} item=${({ name, some }) => html`<section class="card hit compact"><h3>${name ? html`<a href=${linkTo.session(name, some[0].event.id)} dir="auto">${name}</a>` : "Outside any conversation"}</h3>
    ${some.slice(0, HITS).map((hit) => row(hit, false))}${some.length > HITS && html`<p class="small quiet">and ${count(some.length - HITS, "more match", "more matches")} in it</p>`}</section>`} />`;
}

function grouped(items, key) {
  const groups = new Map();
  for (const item of items) groups.set(key(item), [...(groups.get(key(item)) || []), item]);
  return groups;
}

/** One conversation in full; with `event` in the address it opens at that line. */
function Conversation({ name, query, me, beats }) {
  const [round, setRound] = useState(0);
  const go = addressOf("browse", ["session", name], query);
  const marked = query.event;
  const at = useAsked((signal) => (marked ? read("show", { id: marked }, signal) : Promise.resolve(undefined)), [marked]);
  const about = useAsked((signal) => read("activity", { session: name, parts: 1 }, signal), [name, beats.event, beats.forgotten]);
  const until = query.at && endOf(query.at) !== undefined ? new Date(endOf(query.at)).toISOString() : undefined;
  const empty = html`<${Empty} title="No messages">${query.at ? "Nothing was said here by then." : "This conversation has no messages, or they were forgotten."}</>`;
  const { events, begin, end } = about.value || {};
  return html`<p class="crumbs"><a href="#/browse">Browse</a> ›</p>
    <${Head} title=${name} tools=${html`<${AsOf} at=${query.at} onChange=${(day) => go({ at: day })} />`}>${events > 0 && `${count(events, "message")}, ${span({ first_at: begin, last_at: end })}.`}</>
    ${at.error && html`<${Trouble} error=${at.error} />`}
    ${marked && !at.value && !at.error ? html`<${Waiting} />` : html`<${Around} key=${`${marked} ${until} ${round} ${beats.forgotten}`} which=${{ session: name, until }} event=${at.value} me=${me} onChanged=${() => setRound(round + 1)} empty=${empty} />`}`;
}

/** Messages from shortly before an event on; earlier ones on demand. Without an event, all of them. */
function Around({ which, event, me, onChanged, empty }) {
  const [before, setBefore] = useState({ items: [] });
  const row = (one) => html`<${Message} event=${one} marked=${one.id === event?.id} me=${me} onChanged=${onChanged} />`;
  const earlier = (cursor) => read("events", { ...which, until: event.at, newest_first: true, limit: AROUND, cursor }).then(
    (page) => setBefore((known) => ({ items: [...page.events.reverse(), ...known.items], next: page.next })),
    (error) => setBefore((known) => ({ ...known, error })));
  const box = useRef();
  useEffect(() => {
    if (event) earlier();
  }, []);
  // They may come after the marked message, and push it out of the window.
  useEffect(() => box.current.querySelector(".message.marked")?.scrollIntoView({ block: "center" }), [before.items.length > 0]);
  return html`<div class="chat" ref=${box}>${before.error && html`<${Trouble} error=${before.error} />`}
    ${before.next && html`<div class="pad"><button onClick=${() => earlier(before.next)}>Earlier messages</button></div>`}
    ${before.items.length > 0 && html`<ul class="list">${before.items.map((one) => html`<li key=${one.id}>${row(one)}</li>`)}</ul>`}
    <${Paged} operation="events" parameters=${{ ...which, since: event?.at, limit: AT_ONCE }} item=${row} empty=${empty} /></div>`;
}

/** An event that belongs to no conversation, among what was said around that time. */
function Alone({ id, me }) {
  const [round, setRound] = useState(0);
  const found = useAsked((signal) => read("show", { id }, signal), [id]);
  const event = found.value;
  useEffect(() => {
    if (event?.session) location.replace(linkTo.session(event.session, event.id));
  }, [event]);
  if (found.error) return html`<${Head} title="Message" /><${Trouble} error=${found.error} />`;
  if (!event || event.session) return html`<${Head} title="Message" /><${Waiting} />`;
  return html`<p class="crumbs"><a href="#/browse">Browse</a> ›</p><${Head} title=${`Message of ${moment(event.at)}`}>It belongs to no conversation. This is what was said around that time.</>
    <${Around} key=${round} which=${{}} event=${event} me=${me} onChanged=${() => setRound(round + 1)} />`;
}

/** How one statement came about and changed, and the edits one can make. */
function Story({ id, query, me }) {
  const [round, setRound] = useState(0);
  const story = useAsked((signal) => read("history", { id }, signal), [id, round]);
  const versions = story.value?.versions || [];
  const begin = Math.min(Date.now() - 1, ...versions.map((one) => ms(one.statement.valid_from || one.said_at)));
  const lanes = lanesOf(versions, Infinity, new Map(versions.map((one) => [one.statement.event_id, [0, 1 << 30]])));
  const close = () => addressOf("browse", [], { ...query, what: "statements" })({}, true); // so that Back does not reopen the dialog
  return html`<${Dialog} title="History of a statement" onClose=${close}>
    ${story.error && html`<${Trouble} error=${story.error} />`}${!story.value && story.busy && html`<${Waiting} lines=${1} />`}
    ${lanes.length > 0 && html`<${Lanes} lanes=${lanes} span=${{ begin, now: Date.now() }} at=${Date.now()} may=${(one) => me.operations.includes(one)} editor=${editorOf(me)} onChanged=${() => setRound(round + 1)} />`}
    ${versions.length > 0 && html`<h3>Where it was said</h3><ul class="list">${versions.filter((one) => one.statement.extractor !== "by hand").map(({ statement, said_at }) => html`<li key=${statement.id}><blockquote><p class="said" dir="auto">“${statement.quote}”</p>
      <footer class="meta">${statement.speaker && html`<b>${statement.speaker}</b>`}<a href=${linkTo.event(statement.event_id)}>${moment(said_at)}</a></footer></blockquote></li>`)}</ul>`}</>`;
}

/** The words of a statement, without the name in front of it, which is shown below. */
const plain = ({ content, about }) => (about && content.startsWith(`${about}: `) ? content.slice(about.length + 2) : content);

function span({ first_at, last_at }) {
  const [first, last] = [day(first_at), day(last_at)];
  return first === last ? first : `${first} to ${last}`;
}
