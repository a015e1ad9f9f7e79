// Contents, size, queue and integrity check.

import { useState } from "../vendor/preact-htm.js";
import { read } from "../api.js";
import { Head, Trouble, Waiting, day, html, moment, useAsked } from "../parts.js";

const UNITS = ["bytes", "kB", "MB", "GB", "TB"];

export default function Health({ me, beats }) {
  const stats = useAsked((signal) => read("stats", {}, signal), [beats.event, beats.jobs, beats.forgotten]);
  const jobs = useAsked((signal) => (me.operations.includes("jobs") ? read("jobs", {}, signal) : Promise.resolve(null)), [beats.jobs]);
  return html`<${Head} title="Health">Contents, size, queued work and integrity of this memory.</>
    <div class="stack">
      ${stats.error && html`<${Trouble} error=${stats.error} />`}${!stats.value && stats.busy && html`<${Waiting} />`}
      ${stats.value && html`<${Held} stats=${stats.value} />`}
      ${jobs.value && html`<${Jobs} jobs=${jobs.value.jobs || []} />`}
      ${me.operations.includes("verify") && html`<${Verify} />`}
    </div>`;
}

function Held({ stats }) {
  const rows = [
    ["Events", stats.events], ["Sessions", stats.sessions], ["Speakers", stats.speakers], ["Wings", stats.wings],
    ["Concepts", stats.concepts], ["Entities", stats.graph?.entities], ["Facts", stats.graph?.facts], ["Vectors", stats.vectors], ["Queue", stats.pending],
  ];
  const behind = Object.entries(stats.behind || {}).map(([name, number]) => `${Number(number).toLocaleString()} ${name.replaceAll("_", " ")}`).join(", ");
  const stated = Object.entries(stats.statements).map(([name, number]) => [name.replaceAll("_", " "), number]);
  return html`<section class="card"><h2>Space ${stats.space}</h2>
    <p class="soft small">${stats.first_at ? `${day(stats.first_at)} to ${day(stats.last_at)}` : "empty"}${stats.bytes ? ` · ${size(stats.bytes)}` : ""}${stats.model ? ` · ${stats.model}` : ""}</p>
    <${Tiles} entries=${rows} />
    ${behind && html`<p class="soft below">Not processed yet: ${behind}. The service catches up in the background; <code>everyword settle</code> does it now.</p>`}
    ${stated.length > 0 && html`<h3 class="below">Current statements</h3><${Tiles} entries=${stated} />`}</section>`;
}

function Tiles({ entries }) {
  return html`<dl class="tiles">${entries.filter(([, number]) => number !== undefined).map(([name, number]) => html`<div><dt>${name}</dt><dd class="tabular">${Number(number).toLocaleString()}</dd></div>`)}</dl>`;
}

function Jobs({ jobs }) {
  return html`<section class="card"><h2>Queue</h2>${jobs.length === 0 ? html`<p class="soft">No jobs are queued.</p>` : html`<div class="scroll"><table>
    <thead><tr><th>Kind</th><th>Due</th><th class="number">Attempts</th><th>Last error</th></tr></thead>
    <tbody>${jobs.map((job) => html`<tr><td>${job.kind}</td><td class="tabular">${moment(job.due_at)}</td><td class="number">${job.attempts}</td><td>${job.error || ""}</td></tr>`)}</tbody></table></div>`}</section>`;
}

function Verify() {
  const [state, setState] = useState({});
  const run = () => {
    setState({ busy: true });
    read("verify", { deep: false }).then((report) => setState({ report }), (error) => setState({ error }));
  };
  const { report, error, busy } = state;
  return html`<section class="card stack"><div class="row"><h2 class="grow">Integrity</h2><button disabled=${busy} onClick=${run}>${busy ? "Checking …" : "Verify"}</button></div>
    ${error && html`<${Trouble} error=${error} />`}
    ${report && (report.ok ? html`<p>No problems found. Every index agrees with the log.</p>` : html`<ul>${report.problems.map((one) => html`<li><b>${one.where}</b>: ${one.what}. ${one.fix}</li>`)}</ul>`)}
  </section>`;
}

function size(bytes) {
  const step = bytes ? Math.min(UNITS.length - 1, Math.floor(Math.log10(bytes) / 3)) : 0;
  return `${(bytes / 1000 ** step).toFixed(step ? 1 : 0)} ${UNITS[step]}`;
}
