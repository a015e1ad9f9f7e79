// What the cited events state, each as a lane of versions, with the edits one can make.

import { useEffect, useRef, useState } from "../vendor/preact-htm.js";
import { change } from "../api.js";
import { Dialog, Trouble, count, day, html, lastRecord, ms, sinceOf, subjectOf, tell } from "../parts.js";

const SHOWN = 6; // lanes before "Show more"
const BY_HAND = "by hand"; // the extractor of a statement that somebody typed
const SHORT = 60; // characters of a quote in a message

/** Group versions into lanes as they were known at a time: what was said later is left out, and what is not in a quote
 *  either. `spans`: the quoted part of each event. */
export function lanesOf(versions, at, spans) {
  const lanes = new Map(); // by the id of each version
  for (const { statement, said_at, changes } of versions) {
    const lane = lanes.get(statement.replaces) || [];
    if (ms(said_at) < at) lane.push({ statement, said_at, changes });
    lanes.set(statement.id, lane);
  }
  const found = [...new Set(lanes.values())].filter((lane) => lane.some((one) => isQuoted(one, spans)));
  return found.sort((a, b) => weight(b) - weight(a)).map((lane) => lane.map((version, place) => ({ ...version, state: stateOf(version, lane.slice(place + 1), at) })));
}

/** What changed, or was said again, comes first: it is rather what a question is about. */
const weight = (lane) => lane.reduce((sum, { changes }) => sum + 1 + changes.filter(isSaidAgain).length, 0);
const isSaidAgain = ({ action }) => action === "none";

function isQuoted({ statement: { event_id, span }, changes }, spans) {
  const [from, to] = spans.get(event_id) || [0, 0];
  return (span[0] < to && span[1] > from) || changes.some((one) => isSaidAgain(one) && spans.has(one.event_id));
}

function stateOf({ statement }, later, at) {
  const { status, valid_from, valid_to } = statement;
  if (status === "retracted" && !valid_from) return "ending"; // "I no longer eat meat": it says that something is over
  const ended = valid_to && ms(valid_to) <= at;
  if (status === "retracted") return valid_to && valid_from && ms(valid_to) <= ms(valid_from) && later.length === 0 ? "never true" : ended ? "ended" : "current";
  return later.some((one) => one.statement.status !== "retracted") && status === "superseded" ? "superseded" : "current";
}

export function Lanes({ lanes, span, at, may, editor, onChanged }) {
  const [all, setAll] = useState(false);
  const shown = all ? lanes : lanes.slice(0, SHOWN);
  return html`<ul class="lanes">${shown.map((lane) => html`<li key=${lane[0].statement.id}><${Lane} versions=${lane} span=${span} at=${at} may=${may} editor=${editor} onChanged=${onChanged} /></li>`)}</ul>
    ${lanes.length > shown.length && html`<div><button class="plain small" onClick=${() => setAll(true)}>Show ${count(lanes.length - shown.length, "more fact")}</button></div>`}`;
}

function Lane({ versions, span, at, may, editor, onChanged }) {
  const [wording, setWording] = useState();
  const [going, setGoing] = useState(false);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState();
  const current = versions.findLast((one) => one.state === "current" && one.statement.status === "current");
  const run = (doing) => {
    setBusy(true);
    setError(undefined);
    return doing().then(() => { setWording(undefined); setGoing(false); }, setError).finally(() => setBusy(false));
  };
  const undo = (record, what) => run(() => takeBack(record, what, onChanged));
  const correct = (event) => {
    event.preventDefault();
    run(async () => {
      const { statement } = current;
      const made = await change("correct", { id: statement.id, text: wording });
      const back = may("forget") && { label: "Undo", run: () => takeBack(made.event_id, "The correction was undone.", onChanged) };
      tell(`You corrected “${short(said(statement))}” to “${short(wording)}”.`, back);
      onChanged({ now: true });
    });
  };
  const never = () => run(async () => {
    const { statement } = current;
    await change("retract", { id: statement.id, reason: "never_true" });
    const record = may("forget") && may("records") && (await retractionOf(statement.id));
    tell(`You marked “${short(said(statement))}” as never true.`, record && { label: "Undo", run: () => takeBack(record, "It counts as true again.", onChanged) });
    onChanged({});
  });
  const forget = () => run(async () => {
    await change("forget", { ids: [current.statement.event_id] });
    tell(`Forgotten for good: “${short(said(current.statement))}”.`);
    onChanged({});
  });
  const byHand = current?.statement.extractor === BY_HAND;
  return html`<article class="lane" aria-label=${titleOf(versions)}>
    <h3>${titleOf(versions)}</h3>
    ${versions.some(isDrawn) && html`<${Bar} versions=${versions} span=${span} at=${at} />`}
    <ol>${[...versions].reverse().map((one) => html`<${VersionLine} key=${one.statement.id} version=${one} editor=${editor} may=${may} onUndo=${undo} />`)}</ol>
    ${error && html`<${Trouble} error=${error} />`}
    ${current && wording === undefined && html`<div class="row acts">
      ${may("correct") && html`<button class="plain small" disabled=${busy} onClick=${() => setWording(said(current.statement))}>Correct</button>`}
      ${may("retract") && html`<button class="plain small" disabled=${busy} onClick=${never}>Never true</button>`}
      ${may("forget") && !byHand && html`<button class="plain small" disabled=${busy} onClick=${() => setGoing(true)}>Forget</button>`}</div>`}
    ${current && wording !== undefined && html`<form class="stack tight" onSubmit=${correct}><${Wording} text=${wording} onChange=${setWording} />
      <div class="row"><button class="main small" disabled=${busy || !wording.trim() || wording.trim() === said(current.statement)}>Save the correction</button><button type="button" class="small" onClick=${() => setWording(undefined)}>Cancel</button></div></form>`}
    ${going && html`<${Dialog} title="Forget this for good?" onClose=${() => setGoing(false)}>
      <p class="said" dir="auto">“${current.statement.quote}”</p>
      <p class="soft">The whole message from ${day(current.said_at)} is deleted, with every statement and fact read from it. This can’t be undone.</p>
      ${error && html`<${Trouble} error=${error} />`}
      <div class="row"><button class="danger" disabled=${busy} onClick=${forget}>Forget it</button></div></>`}
  </article>`;
}

function Wording({ text, onChange }) {
  const field = useRef();
  useEffect(() => field.current.focus(), []);
  return html`<label class="field">What is right?<textarea rows="2" ref=${field} value=${text} onInput=${(event) => onChange(event.target.value)} /></label>`;
}

/** A move or a new job begins what lasts; any other event is over once it happened. */
const BEGINNINGS = new Set(["lives_in", "moved_to", "works_at", "starts_job"]);
const happened = ({ kind, slot }) => kind === "event" && !BEGINNINGS.has(slot?.attribute);

/** One version in words: what it says, when it held, who said it. */
function VersionLine({ version, editor, may, onUndo }) {
  const { statement, state, changes } = version;
  const byHand = statement.extractor === BY_HAND;
  const retraction = state === "never true" && changes.find((one) => one.action === "retract" && one.reason.startsWith("retracted by "));
  const from = statement.valid_from || version.said_at;
  const when = state === "superseded" || state === "ended" ? `${day(from)} to ${day(statement.valid_to)}` : state === "never true" ? "never true" : happened(statement) ? `on ${day(from)}` : byHand ? day(from) : sinceOf(statement.valid_from, version.said_at);
  const by = byHand ? `edited by ${editor(statement.speaker)}` : retraction ? `marked by ${editor(/^retracted by ([^:]*)/.exec(retraction.reason)[1])}` : statement.speaker ? `${when.startsWith("said") ? "" : "said "}by ${statement.speaker}` : "";
  return html`<li class=${`version ${state.replace(" ", "-")}`}>
    <p><b>${valueOf(statement)}</b> <span class="small soft">${when}</span></p>
    <p class="small quiet">${state === "superseded" && html`<span class="tag">superseded</span> `}${state === "ended" && html`<span class="tag">ended</span> `}${by}
      ${byHand && state === "current" && may("forget") && html` <button class="link small" onClick=${() => onUndo(statement.event_id, "The correction was undone.")}>Undo</button>`}
      ${retraction && may("forget") && html` <button class="link small" onClick=${() => onUndo(retraction.event_id, "It counts as true again.")}>Undo</button>`}</p></li>`;
}

const isDrawn = ({ state }) => state !== "never true" && state !== "ending";

/** The versions as pieces of a bar on the memory's time axis, and where the scrubber stands. */
function Bar({ versions, span, at }) {
  const x = (time) => Math.min(100, Math.max(0, (100 * (time - span.begin)) / Math.max(1, span.now - span.begin)));
  return html`<div class="bar-of-time" aria-hidden="true">${versions.filter(isDrawn).map(({ statement, said_at, state }) => {
    const from = x(ms(statement.valid_from || said_at));
    const to = happened(statement) ? from : state === "current" ? x(at) : x(ms(statement.valid_to));
    return html`<i class=${state} style=${`left: ${Math.min(from, 98.5)}%; width: ${Math.max(1.5, to - from)}%`}></i>`;
  })}<u style=${`left: ${x(at)}%`}></u></div>`;
}

/** Undo an edit: the log forgets it, so that what it changed holds again. */
async function takeBack(record, what, onChanged) {
  await change("forget", { ids: [record] });
  tell(what);
  onChanged({});
}

const retractionOf = (statement) => lastRecord("retraction", (one) => one.details.statement === statement);

function titleOf(versions) {
  const statement = versions.find((one) => one.statement.slot)?.statement || versions[0].statement;
  const { slot, kind } = statement;
  const whose = statement.about === "project" ? "" : subjectOf(statement);
  const what = (slot ? slot.attribute.split(":")[0] : kind).replaceAll("_", " ");
  return whose ? `${whose} · ${what}` : what.charAt(0).toUpperCase() + what.slice(1);
}

/** What a version says: the value alone only where it is affirmed, else the words with their "not", "no longer" or "perhaps". */
function valueOf({ extractor, slot, value, content, about, negated, stance }) {
  if (extractor !== BY_HAND && slot && value && !negated && stance !== "ended" && stance !== "maybe") return value;
  return content.startsWith(`${about}: `) ? content.slice(about.length + 2) : content;
}
const said = (statement) => statement.quote || statement.content;
const short = (text) => (Array.from(text).length > SHORT ? `${Array.from(text).slice(0, SHORT).join("")}…` : text.trim().replace(/\.$/, ""));
