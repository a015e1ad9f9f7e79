// The list of sessions, and one session in full.

import { Empty, EventCard, Head, Paged, count, day, html } from "../parts.js";

const AT_ONCE = 30; // sessions
const QUOTED = 2; // sentences of a session, the most central first

export default function Sessions({ rest }) {
  return rest[0] ? html`<${One} name=${rest[0]} />` : html`<${All} />`;
}

function All() {
  const empty = html`<${Empty} title="No sessions yet">A session is a conversation or a task. Events with a session name are grouped here.</>`;
  return html`<${Head} title="Sessions">Conversations and tasks, latest first.</>
    <${Paged} operation="sessions" parameters=${{ limit: AT_ONCE }} item=${(one) => html`<${Line} session=${one} />`} empty=${empty} />`;
}

function Line({ session }) {
  // The summary that an LLM wrote; without one, quotes.
  const written = (session.written || []).map((one) => one.text).join(" ");
  const said = written ? [] : (session.summary || []).slice(0, QUOTED);
  return html`<article class="card hit">
    <h3><a href=${`#/sessions/${encodeURIComponent(session.name)}`}>${session.name}</a></h3>
    ${written && html`<p class="said" dir="auto">${written}</p>`}
    ${said.map((theme) => html`<p class="said" dir="auto">“${theme.text}”</p>`)}
    <div class="meta"><span>${span(session)}</span><span>${count(session.events, "event")}</span><span>${session.speakers.join(", ")}</span>
      ${(session.keys || []).map((key) => html`<span class="tag">${key}</span>`)}</div>
  </article>`;
}

function One({ name }) {
  const empty = html`<${Empty} title="No events">This session has no events, or they were forgotten.</>`;
  return html`<p class="crumbs"><a href="#/sessions">Sessions</a> ›</p><${Head} title=${name} />
    <${Paged} operation="events" parameters=${{ session: name }} item=${(one) => html`<${EventCard} event=${one} />`} empty=${empty} />`;
}

function span({ first_at, last_at }) {
  const [first, last] = [day(first_at), day(last_at)];
  return first === last ? first : `${first} to ${last}`;
}
