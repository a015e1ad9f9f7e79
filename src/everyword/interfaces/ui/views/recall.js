// A question, its hits with the score of each stage, and the context that an agent would get.

import { useEffect, useRef, useState } from "../vendor/preact-htm.js";
import { read } from "../api.js";
import { Choice, Empty, EventCard, Head, Trouble, Waiting, count, html, percent, useAsked } from "../parts.js";

const PAUSE_MS = 220; // after the last key before the search starts
const COUNTS = [["auto", "Automatic"], ["5", "5 hits"], ["10", "10 hits"], ["25", "25 hits"]];
const BUDGETS = [150, 300, 600, 1200, 2000, 4000]; // tokens

export default function Recall({ rest }) {
  const [text, setText] = useState(rest[0] || "");
  const [question, setQuestion] = useState(rest[0] || "");
  const [budget, setBudget] = useState(3);
  const box = useRef();
  useEffect(() => box.current?.focus(), []);
  useEffect(() => { // a link to another question may be opened meanwhile
    setText(rest[0] || "");
    setQuestion(rest[0] || "");
  }, [rest]);
  useEffect(() => {
    const timer = setTimeout(() => setQuestion(text.trim()), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  useEffect(() => {
    history.replaceState(history.state, "", question ? `#/recall/${encodeURIComponent(question)}` : "#/recall");
  }, [question]);
  return html`<${Head} title="Recall">Ask a question. Hits are verbatim, with speaker and time.</>
    <div class="stack">
      <form role="search" onSubmit=${(event) => { event.preventDefault(); setQuestion(text.trim()); }}>
        <label class="hidden" for="question">Question</label>
        <input id="question" ref=${box} class="big" type="search" placeholder="Where does Ana live?" value=${text} onInput=${(event) => setText(event.target.value)} autocomplete="off" />
      </form>
      ${question ? html`<${Found} question=${question} budget=${BUDGETS[budget]} place=${budget} setPlace=${setBudget} />` : html`<${Begin} onAsk=${setText} />`}
    </div>`;
}

/** Show hits by words at once, then replace them by the full ranking. */
function Found({ question, budget, place, setPlace }) {
  const [k, setK] = useState("auto");
  const asked = `${k} ${question}`;
  const look = (operation) => (signal) => read(operation, { query: question, k }, signal).then((found) => ({ ...found, asked }));
  const first = useAsked(look("glance"), [question, k]);
  const full = useAsked(look("recall"), [question, k]);
  const [shown] = [full, first].map((one) => one.value).filter((one) => one?.asked === asked);
  const found = shown || full.value || first.value;
  const settled = full.value?.asked === asked;
  return html`<p class="hidden" role="status">${settled && !full.busy ? count(found.hits.length, "hit") : ""}</p>
  <div class="two">
    <section aria-label="Hits" aria-busy=${!settled && full.busy}>
      ${full.error && html`<${Trouble} error=${full.error} />`}
      ${!full.error && (found && (settled || found.hits.length) ? html`<${Hits} found=${found} settled=${settled} k=${k} setK=${setK} />` : html`<${Waiting} />`)}
    </section>
    <aside class="sticky"><${Packed} question=${question} budget=${budget} place=${place} setPlace=${setPlace} /></aside>
  </div>`;
}

function Hits({ found, settled, k, setK }) {
  if (!found.hits.length) return html`<${Empty} title="Nothing found">No event matches this question.</>`;
  // Each stage has a scale of its own, so bars are relative to the best hit of the stage.
  const largest = {};
  for (const { stage, score } of found.hits.flatMap((hit) => hit.scores)) largest[stage] = Math.max(largest[stage] || 1e-9, Math.abs(score));
  return html`<div class="stack">
    <div class="row"><div class="grow">${!settled ? html`<div class="sure looking">Matched by words; ranking by meaning …</div>` : found.confidence !== null && found.confidence !== undefined && html`<div class="sure" title="Estimated probability that the hits contain an answer">
      <i style=${`--share: ${percent(found.confidence)}`}></i>Answer found with ${percent(found.confidence)} confidence</div>`}</div>
      <${Choice} label="How many hits" value=${k} options=${COUNTS} onChange=${setK} /></div>
    <ol class="list">${found.hits.map((hit, number) => html`<li key=${hit.event.id}><${Hit} hit=${hit} number=${number + 1} largest=${largest} /></li>`)}</ol>
  </div>`;
}

function Hit({ hit, number, largest }) {
  const [chosen, setOpen] = useState();
  const open = chosen ?? number === 1;
  const share = (one) => `--share: ${percent(Math.abs(one.score) / largest[one.stage])}`;
  const sign = (one) => (one.score < 0 ? " less" : "");
  return html`<${EventCard} event=${hit.event} span=${hit.span}>
    <button class="why" aria-expanded=${open} aria-label=${`No. ${number}: why this hit`} onClick=${() => setOpen(!open)}>No. ${number}
      ${!open && html`<span class="sparks">${hit.scores.map((one) => html`<i class=${sign(one)} style=${share(one)} title=${`${one.stage} ${one.score.toFixed(3)}`}></i>`)}</span>`}</button>
    ${open && html`<div class="bars grow">${hit.scores.map((one) => html`<div class=${`bar${sign(one)}`} title=${one.why}>
      <span>${one.stage}</span><i style=${share(one)}></i><span class="tabular">${one.score.toFixed(3)}</span></div>`)}</div>`}
  </>`;
}

function Packed({ question, budget, place, setPlace }) {
  const context = useAsked((signal) => read("context", { query: question, budget }, signal), [question, budget]);
  const copy = () => navigator.clipboard?.writeText(context.value.text);
  return html`<div class="card stack">
    <div class="row"><h2 class="grow">Context</h2>${context.value && html`<span class="small soft tabular" data-tokens=${context.value.tokens}>${context.value.tokens.toLocaleString()} of ${context.value.budget.toLocaleString()} tokens</span>`}</div>
    <label class="field">Budget<input type="range" min="0" max=${BUDGETS.length - 1} value=${place} onInput=${(event) => setPlace(Number(event.target.value))} aria-valuetext=${`${budget} tokens`} /></label>
    ${context.error && html`<${Trouble} error=${context.error} />`}
    ${context.value ? html`<pre class="packed" tabindex="0">${context.value.text || "No lines fit into this budget."}</pre>
      <div class="row"><span class="small quiet grow">${count(context.value.citations.length, "citation")}, counted with ${context.value.tokenizer}</span><button onClick=${copy}>Copy</button></div>`
      : context.busy && html`<${Waiting} lines=${1} />`}
  </div>`;
}

/** Shown before the first question. */
function Begin({ onAsk }) {
  const stats = useAsked((signal) => read("stats", {}, signal), []);
  if (stats.error) return html`<${Trouble} error=${stats.error} />`;
  if (!stats.value) return html`<${Waiting} lines=${1} />`;
  const { events, sessions, speakers } = stats.value;
  if (!events) return html`<${Empty} title="This memory is empty">Add an event with <code>everyword add "I moved to Lisbon." --speaker Ana</code>, or import files with <code>everyword import</code>.</>`;
  const ideas = ["What was decided?", "What is still to be done?", "What changed last week?"];
  return html`<div class="stack"><p class="soft">${count(events, "event")} in ${count(sessions, "session")} by ${count(speakers, "speaker")}.</p>
    <div class="row">${ideas.map((idea) => html`<button class="chip" onClick=${() => onAsk(idea)}>${idea}</button>`)}</div></div>`;
}
