// Forgetting: first what would go, then, after one more look, the receipt.

import { useState } from "../vendor/preact-htm.js";
import { change } from "../api.js";
import { Head, Trouble, count, html, moment } from "../parts.js";

const FIELDS = [["session", "Session"], ["speaker", "Speaker"], ["wing", "Wing"], ["before", "Happened before"]];

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
  const run = (dry_run, done) => {
    setBusy(true);
    setError(undefined);
    change("forget", { ...given(), dry_run }).then(done, setError).finally(() => setBusy(false));
  };
  const look = (event) => {
    event.preventDefault();
    setReceipt(undefined);
    run(true, setWould);
  };
  const go = () => run(false, (found) => { setWould(undefined); setReceipt(found); });
  const changed = (name, value) => { setWould(undefined); setAsked({ ...asked, [name]: value }); };
  return html`<${Head} title="Forget">Removes events, everything derived from them, and every byte of their text. It can't be undone.</>
    <div class="stack">
      <form class="card stack" onSubmit=${look}>
        <p class="soft">An event must meet all that you give.</p>
        <div class="row">${FIELDS.map(([name, title]) => html`<label class="field">${title}<input type=${name === "before" ? "date" : "text"} value=${asked[name] || ""} onInput=${(event) => changed(name, event.target.value)} /></label>`)}</div>
        <label class="field">Ids of events<input value=${ids} onInput=${(event) => { setWould(undefined); setIds(event.target.value); }} /></label>
        <div><button disabled=${busy || !Object.keys(given()).length}>Show what would go</button></div>
      </form>
      ${error && html`<${Trouble} error=${error} />`}
      ${would && html`<section class="card problem stack"><h2>${count(would.events, "event")} would go</h2>
        <p class="small soft">${would.ids.slice(0, 12).join(", ")}${would.ids.length > 12 ? ` and ${would.ids.length - 12} more` : ""}</p>
        ${would.events > 0 && html`<div><button class="danger" disabled=${busy} onClick=${go}>${busy ? "Forgetting …" : `Forget ${count(would.events, "event")} for ever`}</button></div>`}</section>`}
      ${receipt && html`<section class="card stack"><h2>Forgotten</h2><p>${count(receipt.events, "event")} on ${moment(receipt.at)}. ${receipt.scrubbed ? "The file was rewritten." : "The file will be rewritten by `settle`."}</p>
        <table><tbody>${Object.entries(receipt.removed).map(([name, number]) => html`<tr><td>${name.replaceAll("_", " ")}</td><td class="number">${number.toLocaleString()}</td></tr>`)}</tbody></table>
        <details><summary>Hashes that verify checks from now on</summary><pre class="packed">${receipt.hashes.join("\n")}</pre></details></section>`}
    </div>`;
}
