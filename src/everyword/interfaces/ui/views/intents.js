// To do: what somebody meant to do and nobody has reported as done. Done, Snooze, Not a goal; each can be undone.

import { useState } from "../vendor/preact-htm.js";
import { change, read } from "../api.js";
import { Menu } from "../events.js";
import { endOf, named } from "../know/time.js";
import { AsOf, Choice, Empty, Head, Trouble, Waiting, addressOf, count, day, html, lastRecord, linkTo, ms, tell, useAsked } from "../parts.js";

const FEW = 7; // shown before "Show more"
const MOST = 100;
const DAY_MS = 86_400_000;
const STATUSES = [["", "To do"], ["deferred", "Snoozed"], ["resolved", "Done"], ["rejected", "Not a goal"], ["expired", "Too old"]];
const SHOWN = {
  "": "What somebody meant to do and nobody has reported as done",
  deferred: "What waits until a later day",
  resolved: "What was done",
  rejected: "What was marked as not a goal",
  expired: "What was due long ago, or has not been mentioned for long",
};
const SNOOZES = [["Tomorrow", 1], ["In a week", 7], ["In a month", 30]];
const ANSWERED = { done: "is done", defer: "was snoozed", reject: "is not a goal" };

export default function Intents({ query, me, beats }) {
  const go = addressOf("intents", [], query);
  const status = STATUSES.some(([one]) => one === query.status) ? query.status : "";
  const [round, setRound] = useState(0);
  const [all, setAll] = useState(false);
  const end = endOf(query.at);
  const now = end === undefined ? undefined : new Date(end).toISOString();
  const found = useAsked((signal) => read("intents", { status, limit: MOST, now }, signal), [status, now, round, beats.intent, beats.forgotten]);
  const known = (found.value?.intents || []).filter((one) => end === undefined || ms(one.first_at) < end);
  if (!status) known.sort((a, b) => dueAt(a) - dueAt(b)); // by day; without one, the most important first
  const shown = all ? known : known.slice(0, FEW);
  const again = () => setRound((before) => before + 1);
  const tools = html`<div class="row"><${Choice} label="Show" value=${status} options=${STATUSES} onChange=${(chosen) => go({ status: chosen })} /><${AsOf} at=${query.at} onChange=${(at) => go({ at })} /></div>`;
  return html`<${Head} title="To do" tools=${tools}>${SHOWN[status]}${end === undefined ? "" : `, as of ${named(query.at)}`}.</>
    ${found.error && html`<${Trouble} error=${found.error} />`}${!found.value && found.busy && html`<${Waiting} />`}
    ${found.value && (known.length ? html`<ul class="list todos">${shown.map((one) => html`<li key=${one.id}><${Todo} intent=${one} at=${end ?? Date.now()} may=${end === undefined && me.operations.includes("answer_intent")} undoable=${me.operations.includes("forget")} onAnswered=${again} /></li>`)}</ul>
      ${known.length > shown.length && html`<div class="pad"><button onClick=${() => setAll(true)}>Show ${known.length - shown.length} more</button></div>`}`
      : html`<${Empty} title=${status ? "None" : "Nothing to do"}>${status ? "No goal is in this state." : "Goals are read from words such as “I must …”, “Remind me to …” or “I’ll send it by Friday”."}</>`)}`;
}

function Todo({ intent, at, may, undoable, onAnswered }) {
  const [error, setError] = useState();
  const [busy, setBusy] = useState(false);
  const [wording, setWording] = useState();
  const ground = intent.grounds.at(-1);
  const answer = (given, more = {}) => {
    setBusy(true);
    setError(undefined);
    return change("answer_intent", { id: intent.id, answer: given, ...more }).then(async () => {
      const record = undoable && (await answerOf(intent.id));
      const what = given === "modify" ? `Reworded to “${short(more.text)}”.` : `“${short(intent.statement)}” ${ANSWERED[given]}${more.until ? ` until ${day(more.until)}` : ""}.`;
      tell(what, record && { label: "Undo", run: () => change("forget", { ids: [record] }).then(() => { tell("It is as it was before."); onAnswered(); }) });
      setWording(undefined);
      onAnswered();
    }, setError).finally(() => setBusy(false));
  };
  const back = async () => {
    const record = await answerOf(intent.id);
    if (!record) return tell("It was closed by what was said later, not by an answer.");
    await change("forget", { ids: [record] });
    tell("It is to do again.");
    return onAnswered();
  };
  const open = ["pending", "scheduled", "deferred"].includes(intent.status);
  const late = intent.deadline && ms(intent.deadline) <= at && open;
  return html`<article class="card todo">
    <div class="grow"><h3 dir="auto">${sentence(intent.statement)}</h3>
      <div class="meta">${intent.due && html`<span class=${late ? "tag warn" : "tag on"}>${late ? "overdue, was due" : "due"} ${day(intent.due)}</span>`}${intent.status === "deferred" && intent.until && html`<span class="tag">snoozed until ${day(intent.until)}</span>`}${intent.status === "scheduled" && html`<span class="tag on">accepted</span>`}
        ${ground?.speaker && html`<a href=${linkTo.person(ground.speaker)}>${ground.speaker}</a>`}${ground && html`<a href=${linkTo.event(ground.event_id)}>${day(ground.at)}</a>`}${intent.grounds.length > 1 && html`<span>said ${intent.grounds.length} times</span>`}</div>
      <details class="small"><summary class="quiet">Quotes</summary>${[...intent.grounds].reverse().map((one) => html`<p class="said small" dir="auto">“${one.quote}” <a class="quiet" href=${linkTo.event(one.event_id)}>${one.speaker ? `${one.speaker}, ` : ""}${day(one.at)}</a></p>`)}
        ${intent.settled_by?.quote && html`<p class="said small" dir="auto">Closed by “${intent.settled_by.quote}”</p>`}</details>
      ${error && html`<${Trouble} error=${error} />`}
      ${wording !== undefined && html`<form class="row" onSubmit=${(event) => { event.preventDefault(); answer("modify", { text: wording }); }}><input class="grow" aria-label="New wording" value=${wording} onInput=${(event) => setWording(event.target.value)} /><button class="main" disabled=${busy || !wording.trim()}>Save</button><button type="button" onClick=${() => setWording(undefined)}>Cancel</button></form>`}</div>
    ${may && open && html`<div class="row answers"><button class="main" disabled=${busy} onClick=${() => answer("done")}>Done</button>
      <${Snooze} busy=${busy} onChoose=${(days) => answer("defer", { until: new Date(Date.now() + days * DAY_MS).toISOString() })} />
      <button disabled=${busy} onClick=${() => answer("reject")}>Not a goal</button>
      <${Menu} label=${`More for ${intent.statement}`}><button onClick=${() => setWording(intent.statement)}>Reword …</button>${ground && html`<a href=${linkTo.event(ground.event_id)}>Show where it was said</a>`}</></div>`}
    ${may && !open && undoable && html`<div class="row answers"><button disabled=${busy} onClick=${() => back().catch(setError)}>To do again</button></div>`}
  </article>`;
}

function Snooze({ busy, onChoose }) {
  return html`<${Choice} label="Snooze" value="" options=${[["", "Snooze …"], ...SNOOZES.map(([title, days]) => [String(days), title])]} disabled=${busy} onChange=${(days) => days && onChoose(Number(days))} />`;
}

const NEVER = Number.MAX_SAFE_INTEGER;
const dueAt = ({ deadline }) => (deadline ? ms(deadline) : NEVER);
const answerOf = (id) => lastRecord("feedback", (one) => one.details.intent === id);
const sentence = (text) => text.charAt(0).toUpperCase() + text.slice(1);
const short = (text) => (Array.from(text).length > 60 ? `${Array.from(text).slice(0, 60).join("")}…` : text);
