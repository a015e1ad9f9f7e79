// Statements with their quotes; a dialog shows the versions of one.

import { useState } from "../vendor/preact-htm.js";
import { change, read } from "../api.js";
import { Choice, Dialog, Empty, Head, Paged, Trouble, Waiting, day, html, moment, useAsked } from "../parts.js";

const AT_ONCE = 40; // statements
const KINDS = ["attribute", "fact", "preference", "relationship", "habit", "event", "plan", "task", "decision", "insight", "instruction"];
const STATUSES = ["current", "superseded", "retracted", "any"];

export default function Statements({ rest, me }) {
  const [kind, setKind] = useState("");
  const [status, setStatus] = useState("current");
  const [about, setAbout] = useState("");
  const [round, setRound] = useState(0);
  const open = rest[0];
  const close = () => location.replace("#/statements"); // replaces the entry, so that Back does not reopen the dialog
  const empty = html`<${Empty} title="No statements">No statement matches. They are read from events such as “We decided …”, “Remind me …”, “I live in …”.</>`;
  return html`<${Head} title="Statements">Read from events, each with its quote. Earlier versions are kept.</>
    <div class="stack">
      <div class="row">${KINDS.map((one) => html`<button class="chip" aria-pressed=${kind === one} onClick=${() => setKind(kind === one ? "" : one)}>${word(one)}</button>`)}</div>
      <div class="row"><input aria-label="About" placeholder="About (person or thing)" value=${about} onChange=${(event) => setAbout(event.target.value.trim())} />
        <${Choice} label="Status" value=${status} options=${STATUSES} onChange=${setStatus} /></div>
      <${Paged} key=${round} operation="statements" parameters=${{ kind, status, about, limit: AT_ONCE }} item=${(one) => html`<${Statement} statement=${one} />`} empty=${empty} />
    </div>
    ${open && html`<${Story} key=${open} id=${open} me=${me} onClose=${close} onChanged=${() => setRound(round + 1)} />`}`;
}

function Statement({ statement }) {
  return html`<article class="card hit">
    <div class="row"><span class="tag on">${word(statement.kind)}</span>${statement.status !== "current" && html`<span class="tag over">${statement.status}</span>`}
      <a class="grow" href=${`#/statements/${statement.id}`}>${statement.content}</a></div>
    <p class="said" dir="auto">“${statement.quote}”</p>
    <${Details} statement=${statement} />
  </article>`;
}

function Details({ statement }) {
  const { about, speaker, extractor, date, valid_from, valid_to } = statement;
  return html`<div class="meta">${about && html`<b>about ${about}</b>`}${speaker && speaker !== about && html`<span>${extractor === "by hand" ? "corrected" : "said"} by ${speaker}</span>`}
    ${date && html`<span>“${date.words}” = ${day(date.start)}</span>`}
    ${(valid_from || valid_to) && html`<span>${valid_from ? `since ${day(valid_from)}` : ""}${valid_to ? ` until ${day(valid_to)}` : ""}</span>`}</div>`;
}

/** The versions of one statement, with actions to correct and retract it. */
function Story({ id, me, onClose, onChanged }) {
  const [round, setRound] = useState(0);
  const [text, setText] = useState("");
  const [error, setError] = useState();
  const story = useAsked((signal) => read("history", { id }, signal), [id, round]);
  const versions = story.value?.versions || [];
  const current = versions.map((one) => one.statement).filter((one) => one.status === "current").at(-1);
  const act = (operation, more) =>
    change(operation, { id: current.id, ...more }).then(() => { setText(""); setError(undefined); setRound(round + 1); onChanged(); }, setError);
  return html`<${Dialog} title="History of a statement" onClose=${onClose}>
    ${story.error && html`<${Trouble} error=${story.error} />`}${!story.value && story.busy && html`<${Waiting} lines=${1} />`}
    <div class="versions">${versions.map(({ statement, changes }, number) => html`<section class=${`card hit${statement.status === "current" ? "" : " sunk"}`}>
      <div class="row"><h3 class="grow">Version ${number + 1}</h3><span class=${statement.status === "current" ? "tag on" : "tag"}>${statement.status}</span></div>
      <p>${statement.content}</p>${statement.extractor === "by hand" ? "" : html`<p class="said" dir="auto">“${statement.quote}”</p>`}<${Details} statement=${statement} />
      ${changes.map((one) => html`<p class="small quiet">${moment(one.at)}: ${one.action}, ${one.reason}</p>`)}
    </section>`)}</div>
    ${error && html`<${Trouble} error=${error} />`}
    ${current && me.operations.includes("correct") && html`<form class="row" onSubmit=${(event) => { event.preventDefault(); act("correct", { text }); }}>
      <input class="grow" aria-label="Correct statement" placeholder="Correct statement" value=${text} onInput=${(event) => setText(event.target.value)} />
      <button class="main" disabled=${!text.trim()}>Correct</button><button type="button" class="danger" title="It was true in the past" onClick=${() => act("retract")}>No longer true</button>
      <button type="button" class="danger" title="It was never true, not even in the past" onClick=${() => act("retract", { reason: "never_true" })}>Never true</button>
    </form>`}
  </>`;
}

function word(kind) {
  return kind.replaceAll("_", " ");
}
