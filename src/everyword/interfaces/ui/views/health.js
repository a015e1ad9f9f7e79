// Health: what is there, how far each part is, the queue, size by part, what programs asked, and a check of the file.

import { useEffect, useState } from "../vendor/preact-htm.js";
import { read } from "../api.js";
import { Head, Trouble, Waiting, count, day, html, moment, useAsked } from "../parts.js";

const UNITS = ["bytes", "kB", "MB", "GB", "TB"];
const LOOK_AGAIN_MS = 3000; // while work waits, and for new questions
const MEASURED_AT_ONCE = 300_000_000; // bytes: the parts of a larger file are measured on demand, since all of it is read
const LAYERS = { words: ["Search by words", "messages that are not indexed anew"], vectors: ["Search by meaning", "messages without a vector"], statements: ["Statements", "messages that were not read yet"], graph: ["People and facts", "messages that were not read yet"], sessions: ["Summaries", "conversations without one"], intents: ["To do", "messages that were not read yet"], concepts: ["Themes", "messages that were not read yet"] };
const ALWAYS = ["words", "statements", "graph", "sessions", "concepts"];
const JOBS = { embed: "make vectors", read: "read with an LLM", summarise: "summarise a conversation", plan: "improve themes" };
// Tables of the file by what they are for, the first that fits.
const PARTS = [["What was said", /^(events|event_)/], ["Search by words", /^(word|term|posting)/], ["Search by meaning", /^(vector|token|pooled|window)/], ["Statements", /^(statement|journal|reading|model_reading|read_)/], ["People and facts", /^(claims|facts|fact_|mention|entit|name|known)/], ["Themes", /^fold/], ["Conversations", /^(session|summar|written)/]];

export default function Health({ me, beats }) {
  const [tick, setTick] = useState(0);
  const stats = useAsked((signal) => read("stats", {}, signal), [beats.event, beats.jobs, beats.forgotten, tick]);
  const jobs = useAsked((signal) => (me.operations.includes("jobs") ? read("jobs", { limit: 50 }, signal) : Promise.resolve(null)), [beats.jobs, tick]);
  const waits = stats.value && (stats.value.pending > 0 || Object.values(stats.value.behind || {}).some(Boolean));
  useEffect(() => {
    if (!waits) return undefined;
    const timer = setInterval(() => setTick((before) => before + 1), LOOK_AGAIN_MS);
    return () => clearInterval(timer);
  }, [waits]);
  return html`<${Head} title="Health">What this memory holds, how far it is, and whether it is sound.</>
    <div class="stack">
      ${stats.error && html`<${Trouble} error=${stats.error} />`}${!stats.value && stats.busy && html`<${Waiting} />`}
      ${stats.value && html`<${Held} stats=${stats.value} /><${Progress} stats=${stats.value} jobs=${jobs.value?.jobs} /><${Size} stats=${stats.value} />`}
      ${me.permission === "admin" && html`<${Asked} beats=${beats} />`}
      ${me.operations.includes("verify") && html`<${Verify} />`}
    </div>`;
}

function Held({ stats }) {
  const rows = [["Messages", stats.events, "#/browse?what=messages"], ["Conversations", stats.sessions, "#/browse"], ["Speakers", stats.speakers], ["Wings (people, projects)", stats.wings], ["Statements that hold", total(stats.statements), "#/browse?what=statements"], ["People and things", stats.graph?.entities, "#/people"], ["Facts", stats.graph?.facts], ["Themes", stats.concepts, "#/graph"]];
  return html`<section class="card" aria-labelledby="held"><h2 id="held">${stats.spaces > 1 ? `Space ${stats.space}` : "Contents"}</h2>
    <p class="soft small">${stats.first_at ? `${day(stats.first_at)} to ${day(stats.last_at)}` : "empty"}${stats.model ? ` · meaning by ${stats.model.split("@")[0]}` : " · no model for meaning"}</p>
    <dl class="tiles">${rows.filter(([, number]) => number !== undefined).map(([name, number, link]) => html`<div><dt>${name}</dt><dd class="tabular">${link && number ? html`<a class="plain" href=${link}>${number.toLocaleString()}</a>` : number.toLocaleString()}</dd></div>`)}</dl></section>`;
}

/** How far each part is behind what was said, and the work that waits. */
function Progress({ stats, jobs }) {
  const behind = stats.behind || {};
  const names = [...new Set([...ALWAYS, ...Object.keys(behind)])];
  const waiting = Object.values(behind).some(Boolean);
  return html`<section class="card stack tight" aria-labelledby="progress"><h2 id="progress">Progress</h2>
    <p role="status">${waiting || stats.pending ? "Work is under way in the background. Answers may miss the newest messages’ statements until it is done." : "Everything that was said is searchable and read."}</p>
    <table><thead><tr><th scope="col">Part</th><th scope="col" class="number">Behind</th></tr></thead><tbody>${names.map((name) => html`<tr><td>${LAYERS[name]?.[0] || name.replaceAll("_", " ")}</td><td class="number">${behind[name] ? html`${behind[name].toLocaleString()} <span class="small quiet">${LAYERS[name]?.[1] || ""}</span>` : "up to date"}</td></tr>`)}
      <tr><td>Queue</td><td class="number">${stats.pending ? count(stats.pending, "job") : "empty"}</td></tr></tbody></table>
    ${jobs?.length > 0 && html`<div class="scroll" tabindex="0" role="region" aria-label="Queue"><table><thead><tr><th scope="col">Job</th><th scope="col">Due</th><th scope="col" class="number">Attempts</th><th scope="col">Last error</th></tr></thead>
      <tbody>${jobs.map((job) => html`<tr><td>${JOBS[job.kind] || job.kind}</td><td class="tabular">${moment(job.due_at)}</td><td class="number">${job.attempts}</td><td>${job.error || ""}</td></tr>`)}</tbody></table></div>`}</section>`;
}

function Size({ stats }) {
  const [wanted, setWanted] = useState(stats.bytes > 0 && stats.bytes <= MEASURED_AT_ONCE);
  const found = useAsked((signal) => (wanted ? read("stats", { parts: true }, signal) : Promise.resolve(undefined)), [wanted]);
  if (!stats.bytes) return null;
  const parts = found.value ? grouped(found.value.bytes_by_part) : [];
  const most = Math.max(1, ...parts.map(([, bytes]) => bytes));
  return html`<section class="card stack tight" aria-labelledby="size"><div class="row"><h2 class="grow" id="size">Size</h2><b class="tabular">${size(stats.bytes)}</b></div>
    ${found.error && html`<${Trouble} error=${found.error} />`}
    ${parts.length > 0 ? html`<dl class="bars">${parts.map(([name, bytes]) => html`<div><dt>${name}</dt><dd><i style=${`width: ${Math.max(0.5, (100 * bytes) / most)}%`}></i><span class="tabular">${size(bytes)}</span></dd></div>`)}</dl>`
      : wanted ? found.busy && html`<${Waiting} lines=${1} />` : html`<div><button onClick=${() => setWanted(true)}>Measure each part</button></div>`}</section>`;
}

function grouped(tables) {
  const sums = new Map();
  for (const [table, bytes] of Object.entries(tables)) {
    const name = PARTS.find(([, pattern]) => pattern.test(table))?.[0] || "Other";
    sums.set(name, (sums.get(name) || 0) + bytes);
  }
  return [...sums].sort(([one, a], [other, b]) => (one === "Other") - (other === "Other") || b - a);
}

/** What programs asked lately, where the service keeps it. */
function Asked({ beats }) {
  const [tick, setTick] = useState(0);
  const found = useAsked((signal) => read("audit", {}, signal), [tick, beats.forgotten]);
  useEffect(() => {
    const timer = setInterval(() => document.hidden || setTick((before) => before + 1), LOOK_AGAIN_MS);
    return () => clearInterval(timer);
  }, []);
  if (found.error) return html`<${Trouble} error=${found.error} />`;
  if (!found.value) return null;
  const { on, most, asked } = found.value;
  const given = (one) => [one.quotes !== null && count(one.quotes, "quote"), one.tokens !== null && `${one.tokens.toLocaleString()} tokens`].filter(Boolean).join(", ");
  return html`<section class="card stack tight" aria-labelledby="asked"><h2 id="asked">What programs asked</h2>
    ${!on ? html`<p class="soft">This is not recorded. Start the service with <code>everyword serve --audit 500</code> to keep the last 500 questions in memory, with who asked. Nothing of it is written to disk.</p>`
      : !asked.length ? html`<p class="soft">No program has asked anything since the service started. Questions from this page are not listed.</p>`
        : html`<p class="soft small">The last ${most.toLocaleString()} at most, since the service started; kept in memory only.</p><div class="scroll" tabindex="0" role="region" aria-label="What programs asked"><table><thead><tr><th scope="col">When</th><th scope="col">Who</th><th scope="col">Asked for</th><th scope="col">Question</th><th scope="col">Handed out</th></tr></thead>
          <tbody>${asked.map((one) => html`<tr><td class="tabular">${moment(one.at)}</td><td>${one.who}${one.via === "mcp" ? " (MCP)" : ""}</td><td>${one.operation.replaceAll("_", " ")}</td><td dir="auto">${one.question ? html`<a href=${`#/know?q=${encodeURIComponent(one.question)}`}>${one.question}</a>` : html`<span class="quiet">no question</span>`}</td><td>${given(one)}</td></tr>`)}</tbody></table></div>`}</section>`;
}

function Verify() {
  const [state, setState] = useState({});
  const run = () => {
    setState({ busy: true });
    read("verify", { deep: false }).then((report) => setState({ report }), (error) => setState({ error }));
  };
  const { report, error, busy } = state;
  return html`<section class="card stack tight" aria-labelledby="sound"><div class="row"><h2 class="grow" id="sound">Integrity</h2><button disabled=${busy} onClick=${run}>${busy ? "Checking …" : "Check the file"}</button></div>
    ${error && html`<${Trouble} error=${error} />`}
    ${report ? report.ok ? html`<p role="status">No problems found. Every index agrees with what was said.</p>` : html`<ul>${report.problems.map((one) => html`<li><b>${one.where}</b>: ${one.what}. ${one.fix}</li>`)}</ul>` : html`<p class="soft small">Reads the whole file and compares every index with the log of messages.</p>`}
  </section>`;
}

const total = (counts) => Object.values(counts || {}).reduce((a, b) => a + b, 0);

function size(bytes) {
  const step = bytes ? Math.min(UNITS.length - 1, Math.floor(Math.log10(bytes) / 3)) : 0;
  return `${(bytes / 1000 ** step).toFixed(step ? 1 : 0)} ${UNITS[step]}`;
}
