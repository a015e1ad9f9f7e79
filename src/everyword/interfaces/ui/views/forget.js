// Forget: choose, see everything that goes, confirm. Receipts of what was forgotten before.

import { useEffect, useState } from "../vendor/preact-htm.js";
import { change, read } from "../api.js";
import { Message } from "../events.js";
import { Choice, Head, Long, Trouble, Waiting, addressOf, count, html, moment, tell, useAsked } from "../parts.js";

const TYPED_FROM = 20; // events: forgetting more than this needs a typed confirmation
const AT_ONCE = 100; // events of the preview that are loaded at a time
const MOST_NAMED = 100; // conversations offered, the latest; others can be typed
const FIELDS = ["session", "speaker", "wing", "before"];

export default function Forget({ query, me, beats }) {
  const go = addressOf("forget", [], query);
  const [state, setState] = useState({});
  const names = useAsked((signal) => Promise.all([read("activity", { parts: 1 }, signal), read("sessions", { limit: MOST_NAMED }, signal)]), [beats.forgotten]);
  const [{ speakers = [], wings = [] } = {}, { sessions = [], next } = {}] = names.value || [];
  const given = Object.fromEntries(FIELDS.filter((name) => query[name]).map((name) => [name, query[name]]));
  const asked = JSON.stringify(given);
  const would = state.asked === asked ? state.would : undefined;
  const look = (event) => {
    event.preventDefault();
    setState({ busy: true });
    change("forget", { ...given, dry_run: true }).then((found) => setState({ asked, would: found }), (error) => setState({ error }));
  };
  const go_on = () => {
    setState((before) => ({ ...before, busy: true }));
    // By id: later messages may match too, but were not in the preview.
    change("forget", { ids: would.ids }).then((receipt) => {
      setState({ receipt });
      go(Object.fromEntries(FIELDS.map((name) => [name, ""])), true); // the names may be gone, too
      tell(`Forgotten for good: ${count(receipt.events, "message")}.`);
    }, (error) => setState((before) => ({ ...before, busy: false, error })));
  };
  const pick = (name, value) => {
    setState({});
    go({ [name]: value });
  };
  return html`<${Head} title="Forget">Deletes messages, everything read from them, and their text on disk. This can’t be undone.</>
    <div class="stack">
      <form class="card stack tight" onSubmit=${look}>
        <p class="soft">Choose what to forget. Messages that match all of it are deleted.</p>
        <div class="row"><label class="field">Conversation<${Conversation} value=${query.session || ""} onChange=${(value) => pick("session", value)} /></label>
          <datalist id="sessions">${sessions.map((one) => html`<option value=${one.name}>${count(one.events, "message")}</option>`)}</datalist>
          <label class="field">Speaker<${Choice} label="Speaker" value=${query.speaker || ""} options=${[["", "anyone"], ...speakers]} onChange=${(value) => pick("speaker", value)} /></label>
          ${wings.length > 0 && html`<label class="field">Wing (a person or project)<${Choice} label="Wing" value=${query.wing || ""} options=${[["", "any"], ...wings]} onChange=${(value) => pick("wing", value)} /></label>`}
          <label class="field">Said before<input type="date" value=${query.before || ""} onChange=${(event) => pick("before", event.target.value)} /></label></div>
        ${query.session && names.value && !next && !sessions.some((one) => one.name === query.session) && html`<p class="small soft">There is no conversation with exactly this name.</p>`}
        <div class="row"><button disabled=${state.busy || asked === "{}"}>Show what would go</button><span class="small quiet">A single message is forgotten from its menu, in <a href="#/browse?what=messages">Browse</a>.</span></div>
      </form>
      ${(state.error || names.error) && html`<${Trouble} error=${state.error || names.error} />`}
      ${state.busy && !would && html`<${Waiting} lines=${1} />`}
      ${would && html`<${Going} key=${asked} would=${would} busy=${state.busy} me=${me} onForget=${go_on} />`}
      ${state.receipt && html`<section class="card stack tight" role="status"><h2>Forgotten</h2><${Receipt} receipt=${state.receipt} /></section>`}
      ${me.operations.includes("receipts") && html`<${Receipts} key=${`${beats.forgotten} ${state.receipt?.at}`} />`}
    </div>`;
}

/** A name that is typed or chosen. What was typed stays when the view is drawn again meanwhile. */
function Conversation({ value, onChange }) {
  const [typed, setTyped] = useState(value);
  useEffect(() => setTyped(value), [value]);
  return html`<input list="sessions" placeholder="any" value=${typed} onInput=${(event) => setTyped(event.target.value)} onChange=${(event) => onChange(event.target.value.trim())} />`;
}

/** Everything that goes, and the confirmation. */
function Going({ would, busy, me, onForget }) {
  const [typed, setTyped] = useState("");
  const [shown, setShown] = useState(AT_ONCE);
  const events = useAsked((signal) => loaded(would.ids.slice(0, shown), signal), [would, shown]);
  const number = would.events;
  if (!number) return html`<section class="card"><h2>Nothing matches</h2><p class="soft">No message meets all of these conditions.</p></section>`;
  const sure = number <= TYPED_FROM || typed.trim() === String(number);
  return html`<section class="card going stack tight"><h2>${count(number, "message")} will be forgotten</h2>
    <p class="soft">What was read from them goes too: ${Object.keys(would.removed || {}).length > 1 ? removed(would.removed) : "statements, facts and search entries"}.</p>
    <div class="row">${number > TYPED_FROM && html`<label class="field">Type ${number} to confirm<input inputmode="numeric" value=${typed} onInput=${(event) => setTyped(event.target.value)} autocomplete="off" /></label>`}
      <button class="danger" disabled=${busy || !sure} onClick=${onForget}>${busy ? "Forgetting …" : `Forget ${count(number, "message")} for good`}</button></div>
    ${events.error && html`<${Trouble} error=${events.error} />`}
    ${events.value ? html`<div class="chat scroll-box" tabindex="0" role="region" aria-label="Messages that will be forgotten"><${Long} items=${events.value} item=${(event) => html`<${Message} event=${event} apart me=${{ ...me, operations: [] }} />`} />
      ${would.ids.length > shown && html`<div class="pad"><button onClick=${() => setShown(shown + AT_ONCE)}>Show more of ${number.toLocaleString()}</button></div>`}</div>` : html`<${Waiting} lines=${2} />`}</section>`;
}

const seen = new Map(); // events of the preview that are there already

async function loaded(ids, signal) {
  const missing = ids.filter((id) => !seen.has(id));
  for (const event of await Promise.all(missing.map((id) => read("show", { id }, signal)))) seen.set(event.id, event);
  return ids.map((id) => seen.get(id));
}

// What a receipt counts beside messages, in words. Other rows are parts of indexes.
const PARTS = [["statements", "statement"], ["records", "edit"], ["windows", "search entry", "search entries"]];

function removed(counts) {
  const parts = PARTS.filter(([name]) => counts?.[name]).map(([name, one, many]) => count(counts[name], one, many));
  return parts.join(", ") || "nothing else";
}

function Receipt({ receipt }) {
  const number = receipt.removed?.events ?? receipt.events;
  if (!number) return html`<p class="soft">${count(receipt.removed?.records || 0, "edit")} undone on ${moment(receipt.at)}.</p>`;
  return html`<p>${count(number, "message")} on ${moment(receipt.at)}, with ${removed(receipt.removed)}. ${receipt.scrubbed ? "No trace of the text is left in the file." : "The file is not rewritten yet."}</p>
    ${receipt.left?.length > 0 && html`<p class="small">Their text may still be in:</p><ul class="small">${receipt.left.map((place) => html`<li>${place}</li>`)}</ul>`}`;
}

function Receipts() {
  const found = useAsked((signal) => read("receipts", { limit: 100 }, signal), []);
  if (found.error) return html`<${Trouble} error=${found.error} />`;
  if (!found.value) return null;
  return html`<section class="stack tight" aria-labelledby="receipts"><h2 id="receipts">Receipts</h2>
    ${found.value.receipts.length ? html`<ul class="list">${found.value.receipts.map((one) => html`<li key=${one.at}><article class="card compact"><${Receipt} receipt=${one} /></article></li>`)}</ul>` : html`<p class="quiet">Nothing was forgotten yet.</p>`}
    <p class="small quiet">A receipt keeps counts and times, never what was said.</p></section>`;
}
