// What events state: decisions, todos, preferences ... each with its words, and the versions of one side by side.

import { useState } from "../vendor/preact-htm.js";
import { change, read } from "../api.js";
import { Choice, Dialog, Empty, Head, Paged, Trouble, Waiting, day, html, moment, useAsked } from "../parts.js";

const AT_ONCE = 40; // statements
const KINDS = ["decision", "todo", "reminder", "key_fact", "insight", "preference", "event", "relationship", "attribute"];
const STATUSES = ["current", "superseded", "retracted", "any"];

export default function Artifacts({ rest, me }) {
  const [kind, setKind] = useState("");
  const [status, setStatus] = useState("current");
  const [about, setAbout] = useState("");
  const [round, setRound] = useState(0);
  const open = rest[0];
  const close = () => location.replace("#/artifacts"); // so that going back does not open it again
  const empty = html`<${Empty} title="Nothing stated">No statement fits. They are found in what people say: “we decided …”, “remind me …”, “I live in …”.</>`;
  return html`<${Head} title="Statements">Read out of what was said, each quoted. What changed keeps its history.</>
    <div class="stack">
      <div class="row">${KINDS.map((one) => html`<button class="chip" aria-pressed=${kind === one} onClick=${() => setKind(kind === one ? "" : one)}>${word(one)}</button>`)}</div>
      <div class="row"><input aria-label="About whom" placeholder="About whom" value=${about} onChange=${(event) => setAbout(event.target.value.trim())} />
        <${Choice} label="Status" value=${status} options=${STATUSES} onChange=${setStatus} /></div>
      <${Paged} key=${round} operation="artifacts" parameters=${{ kind, status, about, limit: AT_ONCE }} item=${(one) => html`<${Statement} artifact=${one} />`} empty=${empty} />
    </div>
    ${open && html`<${Story} key=${open} id=${open} me=${me} onClose=${close} onChanged=${() => setRound(round + 1)} />`}`;
}

function Statement({ artifact }) {
  return html`<article class="card hit">
    <div class="row"><span class="tag on">${word(artifact.kind)}</span>${artifact.status !== "current" && html`<span class="tag over">${artifact.status}</span>`}
      <a class="grow" href=${`#/artifacts/${artifact.id}`}>${artifact.content}</a></div>
    <p class="said" dir="auto">“${artifact.quote}”</p>
    <${Told} artifact=${artifact} />
  </article>`;
}

function Told({ artifact }) {
  const { about, speaker, extractor, date, valid_from, valid_to } = artifact;
  return html`<div class="meta">${about && html`<b>about ${about}</b>`}${speaker && speaker !== about && html`<span>${extractor === "by hand" ? "corrected" : "said"} by ${speaker}</span>`}
    ${date && html`<span>“${date.words}” = ${day(date.start)}</span>`}
    ${(valid_from || valid_to) && html`<span>${valid_from ? `since ${day(valid_from)}` : ""}${valid_to ? ` until ${day(valid_to)}` : ""}</span>`}</div>`;
}

/** The versions of one statement, and what can be done with it. */
function Story({ id, me, onClose, onChanged }) {
  const [round, setRound] = useState(0);
  const [text, setText] = useState("");
  const [error, setError] = useState();
  const story = useAsked((signal) => read("history", { id }, signal), [id, round]);
  const versions = story.value?.versions || [];
  const current = versions.map((one) => one.artifact).filter((one) => one.status === "current").at(-1);
  const act = (operation, more) =>
    change(operation, { id: current.id, ...more }).then(() => { setText(""); setError(undefined); setRound(round + 1); onChanged(); }, setError);
  return html`<${Dialog} title="History of a statement" onClose=${onClose}>
    ${story.error && html`<${Trouble} error=${story.error} />`}${!story.value && story.busy && html`<${Waiting} lines=${1} />`}
    <div class="versions">${versions.map(({ artifact, changes }, number) => html`<section class=${`card hit${artifact.status === "current" ? "" : " sunk"}`}>
      <div class="row"><h3 class="grow">Version ${number + 1}</h3><span class=${artifact.status === "current" ? "tag on" : "tag"}>${artifact.status}</span></div>
      <p>${artifact.content}</p>${artifact.extractor === "by hand" ? "" : html`<p class="said" dir="auto">“${artifact.quote}”</p>`}<${Told} artifact=${artifact} />
      ${changes.map((one) => html`<p class="small quiet">${moment(one.at)}: ${one.action}, ${one.reason}</p>`)}
    </section>`)}</div>
    ${error && html`<${Trouble} error=${error} />`}
    ${current && me.operations.includes("correct") && html`<form class="row" onSubmit=${(event) => { event.preventDefault(); act("correct", { text }); }}>
      <input class="grow" aria-label="What is so" placeholder="What is so, in your words" value=${text} onInput=${(event) => setText(event.target.value)} />
      <button class="main" disabled=${!text.trim()}>Correct</button><button type="button" class="danger" title="It was so, and is no longer" onClick=${() => act("retract")}>No longer true</button>
      <button type="button" class="danger" title="It never was so: the past is told without it, too" onClick=${() => act("retract", { reason: "never_true" })}>Never true</button>
    </form>`}
  </>`;
}

function word(kind) {
  return kind.replaceAll("_", " ");
}
