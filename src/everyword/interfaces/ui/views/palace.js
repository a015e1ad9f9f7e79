// The palace: wings, rooms, halls, closets and drawers; tunnels connect wings. The URL holds the position, so Back works.

import { read } from "../api.js";
import { About, Empty, Head, Said, Trouble, Waiting, count, html, useAsked } from "../parts.js";

const SHOWN = 12; // tunnels, the strongest first
const ROOMS = 24; // per wing: the summaries of each take a while to compute
const NOWHERE = "-"; // in URLs: no wing, or the hall of events without statements

export default function Palace({ rest, beats }) {
  const found = useAsked((signal) => read("palace", { rooms: ROOMS }, signal), [beats.concept, beats.forgotten]);
  if (found.error) return html`<${Trouble} error=${found.error} />`;
  if (!found.value) return html`<${Head} title="Palace" /><${Waiting} />`;
  const { wings, tunnels } = found.value;
  const wing = rest[0] && wings.find((one) => called(one.name) === rest[0]);
  const room = wing && rest[1] && wing.rooms.find((one) => one.id === rest[1]);
  const hall = room && rest[2] && room.halls.find((one) => called(one.kind) === rest[2]);
  const crumbs = [["Palace", []], wing && [wingName(wing.name), [called(wing.name)]], room && [room.label, [called(wing.name), room.id]], hall && [hallName(hall), []]].filter(Boolean);
  return html`<${Head} title="Palace">A wing for each person or project, a room for each concept, a hall for each kind of statement.</>
    ${!wings.some((one) => one.events) ? html`<${Empty} title="No rooms yet">Rooms appear when concepts form.</>` : html`
    ${crumbs.length > 1 && html`<nav class="crumbs" aria-label="Breadcrumb">${crumbs.map(([name, path], number) => html`${number > 0 && html`<span aria-hidden="true">›</span>`}${number < crumbs.length - 1 ? html`<a href=${at(...path)}>${name}</a>` : html`<span aria-current="location">${name}</span>`}`)}</nav>`}
    ${!wing && html`<${Doors} doors=${wings.map((one) => ({ href: at(called(one.name)), title: wingName(one.name), note: `${count(one.events, "event")}, ${count(one.rooms.length, "room")}` }))} />
      <${Tunnels} tunnels=${tunnels.slice(0, SHOWN)} />`}
    ${wing && !room && (wing.rooms.length ? html`<${Doors} doors=${wing.rooms.map((one) => ({ href: at(called(wing.name), one.id), title: one.label, note: count(one.events, "event") }))} />`
      : html`<${Empty} title="No rooms yet">A room appears when three or more events of this wing share a theme.</>`)}
    ${room && !hall && html`<${Doors} doors=${room.halls.map((one) => ({ href: at(called(wing.name), room.id, called(one.kind)), title: hallName(one), note: count(one.closets.reduce((sum, closet) => sum + closet.drawers.length, 0), "drawer") }))} />
      <${Tunnels} tunnels=${tunnels.filter((one) => one.concept === room.id)} from=${wing.name} />`}
    ${hall && hall.closets.map((closet) => html`<${Closet} closet=${closet} />`)}`}`;
}

function Doors({ doors }) {
  return html`<ul class="walk">${doors.map((door) => html`<li><a class="door" href=${door.href}><b>${door.title}</b><span class="small soft">${door.note}</span></a></li>`)}</ul>`;
}

/** Concepts that several wings share, with a link to the room in each wing. */
function Tunnels({ tunnels, from }) {
  if (!tunnels.length) return null;
  const ways = (one) => one.wings.filter((name) => from === undefined || name !== from);
  return html`<section class="stack below"><div><h2>Tunnels</h2><p class="soft">${from === undefined ? "Concepts that several wings share." : "The same concept in other wings."}</p></div>
    <ul class="walk">${tunnels.map((one) => html`<li class="card sunk tunnel"><b>${one.label}</b><div class="row">${ways(one).map((name) => html`<a class="tag on" href=${at(called(name), one.concept)}>${wingName(name)}</a>`)}</div></li>`)}</ul></section>`;
}

function Closet({ closet }) {
  return html`<section class="stack closet"><div><h2>${closet.session ? html`<a href=${`#/sessions/${encodeURIComponent(closet.session)}`}>${closet.session}</a>` : "No session"}</h2>${closet.summary && html`<p class="soft">${closet.summary}</p>`}</div>
    <ul class="list">${closet.drawers.map((drawer) => html`<li key=${drawer.event_id}><article class="card hit"><${Said} text=${drawer.text} /><${About} event=${drawer} /></article></li>`)}</ul></section>`;
}

const at = (...path) => ["#/palace", ...path.map(encodeURIComponent)].join("/");
const called = (name) => name || NOWHERE;
const wingName = (name) => name || "No wing";
const hallName = (hall) => (hall.kind ? hall.kind.replaceAll("_", " ") : "without a statement");
