// Concepts, entities and intents as a graph. Size shows strength, opacity shows decay; a click shows quotes.

import { useEffect, useRef, useState } from "../vendor/preact-htm.js";
import { read } from "../api.js";
import { Empty, Head, Trouble, Waiting, count, day, html, ms, useAsked } from "../parts.js";

const REPLAY_MS = 60; // between two steps
const STEPS = 120; // of the slider
const QUOTES = 3; // of a name
const LOOKED_AT = 20; // hits from which the quotes are chosen
const QUOTED = 240; // characters of each
const FAINTEST = 0.3; // opacity of a decayed node
const LEAST_SAID = 0.75; // opacity of its label, which must stay readable
const NARROW = 700; // px
const DRAWN = { wide: 64, narrow: 40 }; // nodes: more can't be distinguished
const ALONE = 110; // px between unconnected nodes
const RIM = 64; // px of margin
const WIDEST = 2.4; // how much a round graph is stretched to fill a wide window
const LETTERS = { wide: 13, narrow: 19 }; // px of labels before zooming
// An eighth of the default iterations with faster cooling: nodes hardly move in the later ones, and the user waits.
const COOLING = { numIter: 130, coolingFactor: 0.95 };
const LAYOUT = { name: "cose", animate: false, padding: 30, nodeRepulsion: () => 60000, idealEdgeLength: () => 80, gravity: 60, nodeOverlap: 24, ...COOLING };

let library;
const drawn = () => (library ??= import("../vendor/cytoscape.js"));

export default function Graph({ beats }) {
  const [round, setRound] = useState(0);
  const limit = innerWidth < NARROW ? DRAWN.narrow : DRAWN.wide;
  // The library is large: load it while the request is answered.
  const asked = (signal) => [read("map", { limit }, signal), drawn()][0];
  const found = useAsked(asked, [round, beats.concept, beats.intent, beats.forgotten]);
  const tools = html`<div class="row"><div class="legend"><span><i></i>concept</span><span><i class="entity"></i>entity</span><span><i class="intent"></i>intent</span></div>
    <button onClick=${() => setRound(round + 1)}>Refresh</button></div>`;
  return html`<${Head} title="Graph" tools=${tools}>Concepts, people, places and goals, and how they relate. The slider replays how the graph grew.</>
    ${found.error && html`<${Trouble} error=${found.error} />`}${!found.value && found.busy && html`<${Waiting} />`}
    ${found.value && (found.value.nodes.length ? html`<${Drawn} graph=${found.value} />`
      : html`<${Empty} title="No graph yet">Concepts appear when three or more events share a theme; people and places appear when they are named.</>`)}`;
}

function Drawn({ graph }) {
  const box = useRef();
  const drawing = useRef();
  const latest = useRef();
  latest.current = new Map(graph.nodes.map((node) => [node.id, node]));
  const [chosen, setChosen] = useState();
  const [step, setStep] = useState(STEPS);
  const [playing, setPlaying] = useState(false);
  const times = graph.nodes.map((node) => ms(node.first_at));
  const [begin, end] = [Math.min(...times), Math.max(...times)];
  const until = begin + ((end - begin) * step) / STEPS;
  useEffect(() => {
    let gone = false;
    drawn().then(({ default: cytoscape }) => {
      if (gone) return;
      drawing.current = draw(cytoscape, box.current, graph, (id) => setChosen(latest.current.get(id)));
    });
    const recolour = () => drawing.current?.style(styles());
    addEventListener("everyword-theme", recolour);
    return () => {
      gone = true;
      removeEventListener("everyword-theme", recolour);
      drawing.current?.destroy();
    };
  }, []);
  useEffect(() => {
    if (drawing.current) grow(drawing.current, graph);
  }, [graph]);
  useEffect(() => {
    drawing.current?.batch(() => drawing.current.nodes().forEach((node) => node.style("display", step === STEPS || node.data("first") <= until ? "element" : "none")));
  }, [step]);
  useEffect(() => {
    if (!playing) return undefined;
    const timer = setInterval(() => setStep((before) => (before >= STEPS ? (setPlaying(false), STEPS) : before + 1)), REPLAY_MS);
    return () => clearInterval(timer);
  }, [playing]);
  const play = () => {
    if (!playing && step >= STEPS) setStep(0);
    setPlaying(!playing);
  };
  return html`<div class="stack">
    <div class="graph"><div class="canvas" ref=${box} role="img" aria-label=${`${count(graph.nodes.length, "node")} and ${count(graph.edges.length, "edge")}`}></div>
      ${chosen && html`<${Panel} node=${chosen} onClose=${() => setChosen(undefined)} />`}</div>
    <div class="row"><button onClick=${play}>${playing ? "Pause" : "Replay"}</button>
      <input class="grow" type="range" min="0" max=${STEPS} value=${step} aria-label="Show the graph as it was" onInput=${(event) => { setPlaying(false); setStep(Number(event.target.value)); }} />
      <span class="small soft tabular">${day(new Date(until).toISOString())}</span></div>
    <details><summary class="small soft">As a list</summary><ul>${graph.nodes.slice(0, 300).map((node) => html`<li><button class="link" onClick=${() => setChosen(node)}>${node.label}</button> <span class="quiet small">${node.kind}</span></li>`)}</ul></details>
  </div>`;
}

function Panel({ node, onClose }) {
  // Entities have no quotes of their own: look up events that mention the name.
  const found = useAsked((signal) => (node.quotes.length ? Promise.resolve(node.quotes) : said(node.label, signal)), [node.id]);
  const closing = (event) => event.key === "Escape" && onClose();
  const here = useRef();
  useEffect(() => {
    const before = document.activeElement;
    addEventListener("keydown", closing);
    return () => {
      removeEventListener("keydown", closing);
      before?.focus();
    };
  }, []);
  useEffect(() => here.current.focus(), [node.id]); // the panel comes before the list in the document
  return html`<aside class="panel stack" aria-label=${node.label} tabindex="-1" ref=${here}>
    <div class="row"><h2 class="grow">${node.label}</h2><button class="plain" onClick=${onClose} aria-label="Close">✕</button></div>
    <div class="meta"><span class="tag on">${node.kind}</span><span>${count(node.events, "event")}</span><span>since ${day(node.first_at)}</span></div>
    ${node.description && html`<p class="soft">${node.description}</p>`}
    ${found.error && html`<${Trouble} error=${found.error} />`}
    ${found.value ? found.value.map((quote) => html`<p class="said" dir="auto">“${quote}”</p>`) : found.busy && html`<${Waiting} lines=${1} />`}
    <a href=${`#/know?q=${encodeURIComponent(node.label)}`}>Ask about it</a>
  </aside>`;
}

/** Find quotes that contain a name, or else any hits for it. */
async function said(name, signal) {
  const { hits } = await read("glance", { query: name, k: LOOKED_AT }, signal);
  const named = hits.filter(({ event }) => event.text.toLowerCase().includes(name.toLowerCase()));
  return (named.length ? named : hits).slice(0, QUOTES).map(({ event, span }) => Array.from(event.text).slice(...(span || [])).slice(0, QUOTED).join(""));
}

function draw(cytoscape, container, graph, onChoose) {
  const drawing = cytoscape({ container, elements: elements(graph), style: styles(), layout: { name: "null" }, minZoom: 0.1, maxZoom: 4 });
  drawing.on("tap", "node", (event) => onChoose(event.target.id()));
  arrange(drawing);
  return drawing;
}

/** Lay out connected nodes by forces, stretched to the window; unconnected nodes go below, in rows. */
function arrange(drawing) {
  const joined = drawing.nodes().filter((node) => node.degree() > 0);
  const alone = drawing.nodes().difference(joined);
  const room = drawing.width() / Math.max(1, drawing.height());
  const rows = (width) => Math.ceil(alone.length / Math.max(1, Math.floor(width / ALONE)));
  if (joined.nonempty()) {
    joined.union(joined.connectedEdges()).layout({ ...LAYOUT, randomize: true, fit: false }).run();
    const box = extent(joined);
    const tall = box.h + ALONE * 0.7 * rows(room * box.h) + (alone.nonempty() ? ALONE : 0);
    const stretch = Math.max(0.6, Math.min(WIDEST, (room * tall) / Math.max(1, box.w)));
    joined.positions((node) => ({ x: node.position("x") * stretch, y: node.position("y") }));
  }
  const box = joined.nonempty() ? extent(joined) : { x1: 0, y2: 0, w: 0 };
  // As wide as the connected part or, if that is small, proportioned like the window.
  const wide = Math.max(box.w, ALONE * Math.min(alone.length, Math.ceil(Math.sqrt(alone.length * room))));
  const across = Math.max(1, Math.floor(wide / ALONE));
  const begin = box.x1 - (wide - box.w) / 2;
  alone.positions((node) => {
    const number = alone.indexOf(node);
    return { x: begin + ((number % across) + 0.5) * (wide / across), y: box.y2 + ALONE * (0.9 + 0.7 * Math.floor(number / across)) };
  });
  show(drawing);
}

/** Zoom so that all nodes are visible, with room for labels. */
function show(drawing) {
  const [box, width, height] = [extent(drawing.nodes()), drawing.width(), drawing.height()];
  const zoom = Math.max(drawing.minZoom(), Math.min(1.6, (width - 2 * RIM) / Math.max(1, box.w), (height - 2 * RIM) / Math.max(1, box.h)));
  drawing.viewport({ zoom, pan: { x: width / 2 - zoom * (box.x1 + box.w / 2), y: height / 2 - zoom * (box.y2 - box.h / 2) } });
}

/** Bounding box of node positions. The library's own is slow: it measures each label and edge. */
function extent(nodes) {
  const [xs, ys] = [nodes.map((node) => node.position("x")), nodes.map((node) => node.position("y"))];
  const [x1, y1, y2] = [Math.min(...xs), Math.min(...ys), Math.max(...ys)];
  return { x1, y2, w: Math.max(...xs) - x1, h: y2 - y1 };
}

/** Add new nodes near their neighbours, without moving the others. */
function grow(drawing, graph) {
  const wanted = elements(graph);
  const ids = new Set(wanted.map((one) => one.data.id));
  drawing.batch(() => {
    drawing.elements().filter((one) => !ids.has(one.id())).remove();
    for (const one of wanted) {
      const known = drawing.getElementById(one.data.id);
      if (known.nonempty()) known.data(one.data);
    }
  });
  const added = drawing.add(wanted.filter((one) => drawing.getElementById(one.data.id).empty()));
  if (!added.nodes().length) return;
  const before = drawing.nodes().difference(added);
  before.lock();
  drawing.layout({ ...LAYOUT, randomize: false, fit: before.empty() }).run();
  before.unlock();
}

function elements(graph) {
  const known = new Set(graph.nodes.map((node) => node.id));
  return [
    ...graph.nodes.map((node) => ({ data: { id: node.id, label: Array.from(node.label).slice(0, 40).join(""), kind: node.kind, size: 14 + 30 * node.strength, fade: Math.max(FAINTEST, node.weight), said: Math.max(LEAST_SAID, node.weight), first: ms(node.first_at) } })),
    ...graph.edges.filter((edge) => known.has(edge.source) && known.has(edge.target)).map((edge) => ({ data: { ...edge, id: `${edge.source} ${edge.kind} ${edge.target}`, width: 0.6 + 2.4 * edge.weight } })),
  ];
}

/** Take colours from the page's CSS variables, so that themes are defined once. */
function styles() {
  const colours = getComputedStyle(document.documentElement);
  const colour = (name) => colours.getPropertyValue(`--${name}`).trim();
  return [
    { selector: "node", style: { label: "data(label)", width: "data(size)", height: "data(size)", "background-opacity": "data(fade)", "text-opacity": "data(said)", "background-color": colour("accent"), color: colour("ink"), "text-background-color": colour("card"), "text-background-opacity": 0.6, "text-background-padding": 1, "font-size": innerWidth < NARROW ? LETTERS.narrow : LETTERS.wide, "font-family": "Inter, sans-serif", "text-valign": "bottom", "text-margin-y": 4, "text-max-width": 130, "text-wrap": "ellipsis", "min-zoomed-font-size": 5 } },
    { selector: "node[kind = 'entity']", style: { shape: "round-rectangle", "background-color": colour("faint") } },
    { selector: "node[kind = 'intent']", style: { shape: "diamond", "background-color": colour("ink") } },
    { selector: "node:selected", style: { "border-width": 3, "border-color": colour("ink") } },
    { selector: "edge", style: { width: "data(width)", "line-color": colour("faint"), "curve-style": "haystack", opacity: 0.28 } },
    { selector: "edge[kind = 'causes'], edge[kind = 'part_of'], edge[kind = 'triggers']", style: { "curve-style": "bezier", "target-arrow-shape": "triangle", "target-arrow-color": colour("faint"), "line-color": colour("faint"), opacity: 0.5, "arrow-scale": 0.7 } },
  ];
}
