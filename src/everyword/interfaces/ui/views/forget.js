// Forget events: preview, confirm, receipt.

import { useState } from "../vendor/preact-htm.js";
import { change, read } from "../api.js";
import { EventCard, Head, Trouble, Waiting, count, html, moment, useAsked } from "../parts.js";

const SHOWN = 8; // events of the preview

const FIELDS = [["session", "Session"], ["speaker", "Speaker"], ["wing", "Wing"], ["before", "Before"]];

export default function Forget() {
  const [asked, setAsked] = useState({});
  const [ids, setIds] = useState("");
  const [would, setWould] = useState();
  const [receipt, setReceipt] = useState();
  const [error, setError] = useState();
  const [busy, setBusy] = useState(false);
  const given = () => {
    const chosen = Object.fromEntries(Object.entries(asked).filter(([, value]) => value));
    const several = ids.split(/[\s,]+/).filter(Boolean);
    return several.length ? { ...chosen, ids: several } : chosen;
  };
  const run = (asked, done) => {
    setBusy(true);
    setError(undefined);
    change("forget", asked).then(done, setError).finally(() => setBusy(false));
  };
  const look = (event) => {
    event.preventDefault();
    setReceipt(undefined);
    run({ ...given(), dry_run: true }, setWould);
  };
  // By id: later events may match too, but were not in the preview.
  const go = () => run({ ids: would.ids }, (found) => { setWould(undefined); setReceipt(found); });
  const changed = (name, value) => { setWould(undefined); setAsked({ ...asked, [name]: value }); };
  return html`<${Head} title="Forget">Deletes events, everything derived from them, and their text on disk. This can't be undone.</>
    <div class="stack">
      <form class="card stack" onSubmit=${look}>
        <p class="soft">Events that match all fields are deleted.</p>
        <div class="row">${FIELDS.map(([name, title]) => html`<label class="field">${title}<input type=${name === "before" ? "date" : "text"} value=${asked[name] || ""} onInput=${(event) => changed(name, event.target.value)} /></label>`)}</div>
        <label class="field">Event ids<input value=${ids} onInput=${(event) => { setWould(undefined); setIds(event.target.value); }} /></label>
        <div><button disabled=${busy || !Object.keys(given()).length}>Preview</button></div>
      </form>
      ${error && html`<${Trouble} error=${error} />`}
      ${would && html`<section class="card going stack"><div class="row"><h2 class="grow">${count(would.events, "event")} will be forgotten</h2>
        ${would.events > 0 && html`<button class="danger" disabled=${busy} onClick=${go}>${busy ? "Forgetting …" : `Forget ${count(would.events, "event")} permanently`}</button>`}</div>
        ${would.events > 0 && html`<p class="soft">Statements, facts, vectors and concepts derived from them are deleted too.</p><${Going} ids=${would.ids} />`}</section>`}
      ${receipt && html`<section class="card stack"><h2>Forgotten</h2><p>${count(receipt.events, "event")} on ${moment(receipt.at)}. ${receipt.scrubbed ? "The file was rewritten." : "The file is not rewritten yet."}</p>
        ${receipt.left.length > 0 && html`<p>Their text may still be in:</p><ul>${receipt.left.map((place) => html`<li>${place}</li>`)}</ul>`}
        <div class="scroll"><table><thead><tr><th>Deleted</th><th class="number">Count</th></tr></thead><tbody>${Object.entries(receipt.removed).map(([name, number]) => html`<tr><td>${name.replaceAll("_", " ")}</td><td class="number">${number.toLocaleString()}</td></tr>`)}</tbody></table></div></section>`}
    </div>`;
}

/** The first events of the preview. */
function Going({ ids }) {
  const found = useAsked((signal) => Promise.all(ids.slice(0, SHOWN).map((id) => read("show", { id }, signal))), [ids]);
  if (found.error) return html`<${Trouble} error=${found.error} />`;
  if (!found.value) return html`<${Waiting} lines=${1} />`;
  return html`<ul class="list">${found.value.map((event) => html`<li key=${event.id}><${EventCard} event=${event} /></li>`)}</ul>
    ${ids.length > SHOWN && html`<p class="soft">and ${count(ids.length - SHOWN, "more event")}.</p>`}`;
}
