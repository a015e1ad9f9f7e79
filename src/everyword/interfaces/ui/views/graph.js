// The strongest themes, people, things and goals, and how they relate. A name keeps its place while others come and go.

import { useEffect, useMemo, useRef, useState } from "../vendor/preact-htm.js";
import { read } from "../api.js";
import { endOf } from "../know/time.js";
import { AsOf, Empty, Head, Search, Trouble, Waiting, addressOf, count, day, html, isNamed, linkTo, ms, placeOf, useAsked } from "../parts.js";

const NARROW = 700; // px
const DRAWN = { wide: 64, narrow: 40 }; // nodes: more can't be told apart
const QUOTES = 3; // of a name
const LOOKED_AT = 20; // hits from which the quotes are chosen
const QUOTED = 240; // characters of each
const LONGEST = 24; // characters of a label
const LETTER = 7; // px
const ROW = 44; // px that a node with its label needs
const ROUNDS = 260; // of the layout: later ones hardly move anything
const REACH = 2.5; // ideal distances within which names push each other: small groups would be driven to the rim
const STRETCH = 0.55; // names are wide: sideways, distances count less
const KINDS = { concept: "theme", entity: "person or thing", intent: "to do" };
const WORDS = { related_to: "related to", mentions: "mentions", triggers: "leads to", causes: "leads to", part_of: "part of" };

export default function Graph({ query, beats }) {
  const go = addressOf("graph", [], query);
  const limit = innerWidth < NARROW ? DRAWN.narrow : DRAWN.wide;
  const found = useAsked((signal) => read("map", { limit }, signal), [beats.concept, beats.intent, beats.forgotten]);
  const end = endOf(query.at) ?? Infinity;
  const graph = useMemo(() => found.value && until(found.value, end), [found.value, end]);
  const legend = html`<div class="row"><div class="legend">${Object.entries(KINDS).map(([kind, words]) => html`<span><i class=${kind}></i>${words}</span>`)}</div><${AsOf} at=${query.at} onChange=${(at) => go({ at })} /></div>`;
  return html`<${Head} title="Graph" tools=${legend}>The strongest themes, people and goals, and how they relate. A theme is what three or more messages share.</>
    ${found.error && html`<${Trouble} error=${found.error} />`}${!found.value && found.busy && html`<${Waiting} />`}
    ${graph && (graph.nodes.length ? html`<${Drawn} graph=${graph} query=${query} go=${go} />` : html`<${Empty} title="No graph yet">Themes appear when three or more messages share one; people and places appear when they are named.</>`)}`;
}

function until(graph, end) {
  const nodes = graph.nodes.filter((node) => ms(node.first_at) < end);
  const known = new Set(nodes.map((node) => node.id));
  return { nodes, edges: graph.edges.filter((edge) => known.has(edge.source) && known.has(edge.target)) };
}

function Drawn({ graph, query, go }) {
  const box = useRef();
  const [size, setSize] = useState();
  useEffect(() => {
    const watch = new ResizeObserver(([one]) => setSize({ width: Math.max(560, Math.floor(one.contentRect.width)), height: 620 }));
    watch.observe(box.current);
    return () => watch.disconnect();
  }, []);
  const joined = useMemo(() => new Set(graph.edges.flatMap((edge) => [edge.source, edge.target])), [graph]);
  const connected = graph.nodes.filter((node) => joined.has(node.id));
  const alone = graph.nodes.filter((node) => !joined.has(node.id));
  const places = useMemo(() => (size ? arranged(connected, graph.edges, size) : new Map()), [graph, size?.width]);
  const chosen = graph.nodes.find((node) => node.id === query.node);
  const near = useMemo(() => new Map(chosen ? graph.edges.filter((edge) => edge.source === chosen.id || edge.target === chosen.id).map((edge) => [edge.source === chosen.id ? edge.target : edge.source, edge]) : []), [graph, chosen]);
  const words = (query.q || "").toLowerCase();
  const matches = (node) => words && node.label.toLowerCase().includes(words);
  const state = (node) => (node === chosen ? "chosen" : near.has(node.id) ? "near" : matches(node) ? "match" : chosen || words ? "away" : "");
  const choose = (node) => go({ node: node === chosen ? "" : node.id });
  const close = () => {
    go({ node: "" });
    box.current?.querySelector(`[data-node="${chosen.id}"]`)?.focus();
  };
  const pressed = (event) => {
    if (event.key === "Escape" && chosen) close();
  };
  const hits = graph.nodes.filter(matches).length;
  return html`<div class="stack tight" onKeyDown=${pressed}>
    <div class="row"><div class="grow"><${Search} label="Find in the graph" value=${query.q || ""} placeholder="Find a theme, a person or a goal" onChange=${(q) => go({ q }, true)} /></div>
      <span class="small soft" role="status">${words ? count(hits, "match", "matches") : `${count(graph.nodes.length, "name")}, ${count(graph.edges.length, "relation")}`}</span></div>
    <div class=${chosen ? "graph open" : "graph"}><div class="canvas" ref=${box} tabindex="0" role="region" aria-label="Graph">
      ${size && html`<svg width=${size.width} height=${size.height} role="group" aria-label=${`${count(graph.nodes.length, "name")} and ${count(graph.edges.length, "relation")}`}>
        ${graph.edges.map((edge) => {
          const [a, b] = [places.get(edge.source), places.get(edge.target)];
          const lit = chosen && (edge.source === chosen.id || edge.target === chosen.id);
          return a && b && html`<line key=${`${edge.source} ${edge.target}`} class=${lit ? "lit" : chosen ? "away" : ""} x1=${a.x} y1=${a.y} x2=${b.x} y2=${b.y} />`;
        })}
        ${connected.map((node) => html`<${Node} key=${node.id} node=${node} at=${places.get(node.id)} state=${state(node)} onChoose=${() => choose(node)} />`)}</svg>`}
      </div>${chosen && html`<${Panel} key=${chosen.id} node=${chosen} near=${near} nodes=${graph.nodes} onChoose=${(id) => go({ node: id })} onClose=${close} />`}</div>
    ${alone.length > 0 && html`<div class="row"><span class="small soft">Not connected yet:</span>${alone.map((node) => html`<button key=${node.id} data-node=${node.id} class=${`chip ${state(node)}`} aria-pressed=${node === chosen} onClick=${() => choose(node)}>${short(node.label)}</button>`)}</div>`}
  </div>`;
}

function Node({ node, at, state, onChoose }) {
  if (!at) return null;
  const r = 6 + 7 * node.strength;
  const words = short(node.label);
  const pressed = (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    onChoose();
  };
  const shape = node.kind === "entity" ? html`<rect x=${-r} y=${-r} width=${2 * r} height=${2 * r} rx="3" />` : node.kind === "intent" ? html`<rect x=${-r * 0.8} y=${-r * 0.8} width=${1.6 * r} height=${1.6 * r} transform="rotate(45)" />` : html`<circle r=${r} />`;
  return html`<g class=${`node ${node.kind} ${state}`} data-node=${node.id} transform=${`translate(${at.x} ${at.y})`} role="button" tabindex="0" aria-pressed=${state === "chosen"} aria-label=${`${node.label}, ${KINDS[node.kind]}`} onClick=${onChoose} onKeyDown=${pressed}>
    <title>${node.label}</title>${shape}<text y=${r + 14} text-anchor="middle">${words}</text></g>`;
}

function Panel({ node, near, nodes, onChoose, onClose }) {
  const here = useRef();
  const found = useAsked((signal) => (node.quotes?.length ? Promise.resolve(node.quotes.map((quote) => ({ quote }))) : said(node.label, signal)), [node.id]);
  useEffect(() => here.current.focus({ preventScroll: true }), []);
  const named = new Map(nodes.map((one) => [one.id, one]));
  return html`<aside class="panel stack tight" ref=${here} tabindex="-1" aria-label=${node.label}>
    <div class="row"><h2 class="grow" dir="auto">${node.label}</h2><button class="plain" onClick=${onClose}>Close</button></div>
    <div class="meta"><span class="tag on">${KINDS[node.kind]}</span><span>${count(node.events, "message")}</span><span>first on ${day(node.first_at)}</span></div>
    ${node.description && html`<p class="soft small">${node.description}</p>`}
    ${near.size > 0 && html`<div><h3 class="small">Relations</h3><ul class="plain-list">${[...near].map(([id, edge]) => html`<li key=${id} class="small"><span class="quiet">${WORDS[edge.kind] || edge.kind.replaceAll("_", " ")}</span> <button class="link" onClick=${() => onChoose(id)}>${named.get(id).label}</button></li>`)}</ul></div>`}
    ${found.error && html`<${Trouble} error=${found.error} />`}
    ${found.value ? found.value.map(({ quote, event }) => html`<p class="said small" dir="auto">“${quote}” ${event && html`<a class="quiet" href=${placeOf(event)}>${day(event.at)}</a>`}</p>`) : found.busy && html`<${Waiting} lines=${1} />`}
    <div class="row">${node.kind === "entity" && html`<a href=${linkTo.person(node.label)}>Open its page</a>`}<a href=${`#/know?q=${encodeURIComponent(node.label)}`}>Ask about it</a></div>
  </aside>`;
}

/** Find quotes that contain a name, or else any hits for it. */
async function said(name, signal) {
  const { hits } = await read("glance", { query: name, k: LOOKED_AT }, signal);
  const named = hits.filter(({ event }) => isNamed(event.text, name));
  return (named.length ? named : hits).slice(0, QUOTES).map(({ event, span }) => ({ event, quote: Array.from(event.text).slice(...(span || [])).slice(0, QUOTED).join("") }));
}

const kept = new Map(); // places of earlier drawings, as shares of width and height

/** Lay out nodes by forces: all repel each other, edges pull. It starts from places that follow from the ids, and nodes
 *  that were drawn before stay, so that the same graph always looks the same. */
function arranged(nodes, edges, { width, height }) {
  const points = [...nodes].sort((a, b) => a.id.localeCompare(b.id)).map((node, number) => {
    const before = kept.get(node.id);
    const angle = number * 2.399963; // the golden angle spreads points evenly
    const far = Math.sqrt((number + 0.5) / nodes.length) * 0.46;
    return { id: node.id, wide: Math.max(36, short(node.label).length * LETTER + 8), fixed: Boolean(before), x: before ? before.x * width : width * (0.5 + far * Math.cos(angle)), y: before ? before.y * height : height * (0.5 + far * Math.sin(angle)) };
  });
  const at = new Map(points.map((point) => [point.id, point]));
  const ideal = Math.sqrt((width * height) / Math.max(1, points.length)) * 0.62;
  for (let round = 0; round < ROUNDS; round += 1) {
    const reach = ideal * (1 - round / ROUNDS) * 0.5;
    for (const point of points) [point.dx, point.dy] = [(width / 2 - point.x) * 0.04, (height / 2 - point.y) * 0.08];
    for (let i = 0; i < points.length; i += 1) for (let j = i + 1; j < points.length; j += 1) push(points[i], points[j], ideal);
    for (const edge of edges) if (at.has(edge.source) && at.has(edge.target)) pull(at.get(edge.source), at.get(edge.target), ideal);
    for (const point of points.filter((one) => !one.fixed)) {
      const length = Math.hypot(point.dx, point.dy) || 1;
      point.x += (point.dx / length) * Math.min(length, reach);
      point.y += (point.dy / length) * Math.min(length, reach);
      inside(point, width, height);
    }
  }
  for (const point of points) inside(point, width, height);
  apart(points, width, height);
  for (const point of points) kept.set(point.id, { x: point.x / width, y: point.y / height });
  return at;
}

function push(one, other, ideal) {
  const [x, y] = [(one.x - other.x) * STRETCH || 0.1, one.y - other.y || 0.1];
  const far = x * x + y * y;
  if (far > (REACH * ideal) ** 2) return;
  const force = (ideal * ideal) / far / 2;
  one.dx += x * force;
  one.dy += y * force;
  other.dx -= x * force;
  other.dy -= y * force;
}

function pull(one, other, ideal) {
  const [x, y] = [one.x - other.x, one.y - other.y];
  const force = Math.hypot(x * STRETCH, y) / ideal / 3;
  one.dx -= x * force;
  one.dy -= y * force;
  other.dx += x * force;
  other.dy += y * force;
}

/** Move nodes apart until no label lies on another. */
function apart(points, width, height) {
  for (let round = 0; round < 60; round += 1) {
    let moved = false;
    for (let i = 0; i < points.length; i += 1) {
      for (let j = i + 1; j < points.length; j += 1) {
        const [one, other] = [points[i], points[j]];
        const [x, y] = [(one.wide + other.wide) / 2 - Math.abs(one.x - other.x), ROW - Math.abs(one.y - other.y)];
        if (x <= 0 || y <= 0) continue;
        moved = true;
        const sideways = x < y;
        const way = (sideways ? one.x - other.x : one.y - other.y) < 0 ? -1 : 1;
        const by = ((sideways ? x : y) / 2) * way;
        one[sideways ? "x" : "y"] += by;
        other[sideways ? "x" : "y"] -= by;
        inside(one, width, height);
        inside(other, width, height);
      }
    }
    if (!moved) return;
  }
}

function inside(point, width, height) {
  point.x = Math.min(width - point.wide / 2 - 8, Math.max(point.wide / 2 + 8, point.x));
  point.y = Math.min(height - 40, Math.max(24, point.y));
}

const short = (label) => (Array.from(label).length > LONGEST ? `${Array.from(label).slice(0, LONGEST - 1).join("")}…` : label);
