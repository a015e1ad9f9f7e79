// The palace: wings, rooms, halls, closets and drawers to walk through; tunnels lead from wing to wing.

import { useState } from "../vendor/preact-htm.js";
import { read } from "../api.js";
import { Empty, Head, Said, Trouble, Waiting, count, html, moment, useAsked } from "../parts.js";

const SHOWN = 12; // tunnels, the strongest first

export default function Palace() {
  const found = useAsked((signal) => read("palace", {}, signal), []);
  const [path, setPath] = useState([]);
  if (found.error) return html`<${Trouble} error=${found.error} />`;
  if (!found.value) return html`<${Waiting} />`;
  const { wings, tunnels } = found.value;
  const [wing, room, hall] = follow(wings, path);
  const back = (length) => setPath(path.slice(0, length));
  const crumbs = ["Palace", wing && (wing.name || "No wing"), room && room.label, hall && hallName(hall)].filter(Boolean);
  return html`<${Head} title="Palace">A wing for each person or project, a room for each concept, a hall for each kind of statement.</>
    ${!wings.some((one) => one.events) ? html`<${Empty} title="Nobody lives here yet">Rooms open when concepts form.</>` : html`
    <div class="crumbs" aria-label="Where you are" hidden=${crumbs.length < 2}>${crumbs.map((name, number) => html`${number > 0 && "›"}<button class="link" onClick=${() => back(number)}>${name}</button>`)}</div>
    ${!wing && html`<${Doors} doors=${wings.map((one) => ({ title: one.name || "No wing", note: `${count(one.events, "event")}, ${count(one.rooms.length, "room")}` }))} onOpen=${(number) => setPath([number])} />
      ${tunnels.length > 0 && html`<section class="stack below"><div><h2>Tunnels</h2><p class="soft">Concepts that several wings share.</p></div>
        <ul class="walk">${tunnels.slice(0, SHOWN).map((one) => html`<li class="card sunk stack"><b>${one.label}</b><div class="row">${one.wings.map((name) => html`<span class="tag on">${name || "no wing"}</span>`)}</div></li>`)}</ul></section>`}`}
    ${wing && !room && html`<${Doors} doors=${wing.rooms.map((one) => ({ title: one.label, note: count(one.events, "event") }))} onOpen=${(number) => setPath([...path, number])} />`}
    ${room && !hall && html`<${Doors} doors=${room.halls.map((one) => ({ title: hallName(one), note: count(one.closets.reduce((sum, closet) => sum + closet.drawers.length, 0), "drawer") }))} onOpen=${(number) => setPath([...path, number])} />`}
    ${hall && hall.closets.map((closet) => html`<${Closet} closet=${closet} />`)}`}`;
}

function Doors({ doors, onOpen }) {
  return html`<ul class="walk">${doors.map((door, number) => html`<li><button onClick=${() => onOpen(number)}><b>${door.title}</b><span class="small soft">${door.note}</span></button></li>`)}</ul>`;
}

function Closet({ closet }) {
  return html`<section class="stack pad"><div><h2>${closet.session || "No session"}</h2>${closet.summary && html`<p class="soft">${closet.summary}</p>`}</div>
    <ul class="list">${closet.drawers.map((drawer) => html`<li key=${drawer.event_id}><article class="card hit"><${Said} text=${drawer.text} />
      <div class="meta">${drawer.speaker && html`<b>${drawer.speaker}</b>`}<span>${moment(drawer.at)}</span></div></article></li>`)}</ul></section>`;
}

function follow(wings, [first, second, third]) {
  const wing = wings[first];
  const room = wing?.rooms[second];
  return [wing, room, room?.halls[third]];
}

function hallName(hall) {
  return hall.kind ? `${hall.kind.replaceAll("_", " ")}` : "said in passing";
}
