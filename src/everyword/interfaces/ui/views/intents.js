// Open goals, each with its quotes and four answers.

import { useState } from "../vendor/preact-htm.js";
import { change, read } from "../api.js";
import { Choice, Empty, Head, Trouble, Waiting, day, html, moment, percent, useAsked } from "../parts.js";

const STATUSES = ["pending", "scheduled", "deferred", "resolved", "rejected", "expired"];

export default function Intents({ me, beats }) {
  const [status, setStatus] = useState("");
  const [round, setRound] = useState(0);
  const found = useAsked((signal) => read("intents", { status }, signal), [status, round, beats.intent, beats.forgotten]);
  const tools = html`<${Choice} label="Status" value=${status} options=${[["", "open"], ...STATUSES]} onChange=${setStatus} />`;
  return html`<${Head} title="Open goals" tools=${tools}>Goals that someone mentioned and nobody has reported as done.</>
    ${found.error && html`<${Trouble} error=${found.error} />`}${!found.value && found.busy && html`<${Waiting} />`}
    ${found.value && (found.value.intents.length ? html`<ul class="list">${found.value.intents.map((one) => html`<li key=${one.id}><${Intent} intent=${one} may=${me.operations.includes("answer_intent")} onAnswered=${() => setRound(round + 1)} /></li>`)}</ul>`
      : html`<${Empty} title="No goals">No goal has this status.</>`)}`;
}

function Intent({ intent, may, onAnswered }) {
  const [error, setError] = useState();
  const [wording, setWording] = useState();
  const answer = (given, more = {}) => change("answer_intent", { id: intent.id, answer: given, ...more }).then(() => { setWording(undefined); onAnswered(); }, setError);
  const open = intent.status === "pending" || intent.status === "scheduled" || intent.status === "deferred";
  return html`<article class="card hit">
    <div class="row"><h3 class="grow">${intent.statement}</h3><span class="tag on">${intent.category}</span>${intent.status !== "pending" && html`<span class="tag">${intent.status}</span>`}</div>
    ${intent.grounds.map((one) => html`<div><p class="said" dir="auto">“${one.quote}”</p><div class="meta">${one.speaker && html`<b>${one.speaker}</b>`}<span>${moment(one.at)}</span></div></div>`)}
    <div class="meta">${intent.deadline && html`<b>due ${day(intent.due)}</b>`}<span>urgency ${percent(intent.urgency)}</span><span>importance ${percent(intent.importance)}</span><span>density ${percent(intent.density)}</span>
      ${(intent.topics || []).map((topic) => html`<span class="tag">${topic}</span>`)}</div>
    ${intent.reason && html`<details class="small quiet"><summary>Reason</summary>${intent.reason}</details>`}
    ${error && html`<${Trouble} error=${error} />`}
    ${may && open && (wording === undefined ? html`<div class="row"><button class="main" onClick=${() => answer("accept")}>Accept</button><button onClick=${() => setWording(intent.statement)}>Modify</button>
      <button onClick=${() => answer("defer")}>Defer</button><button class="danger" onClick=${() => answer("reject")}>Reject</button></div>`
      : html`<form class="row" onSubmit=${(event) => { event.preventDefault(); answer("modify", { text: wording }); }}>
        <input class="grow" aria-label="New wording" value=${wording} onInput=${(event) => setWording(event.target.value)} /><button class="main">Save</button><button type="button" onClick=${() => setWording(undefined)}>Cancel</button></form>`)}
  </article>`;
}
