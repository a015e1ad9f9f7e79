// Put in: a message in one's own words, files, and who the agent is.

import { useEffect, useRef, useState } from "../vendor/preact-htm.js";
import { change, read, upload } from "../api.js";
import { Choice, Head, Trouble, Waiting, count, html, linkTo, moment, tell, useAsked } from "../parts.js";

const YOU = "everyword.speaker"; // under which name the browser keeps who remembers
const PREVIEWED_BYTES = 20_000_000; // a larger file is imported without a preview
const FORMATS = /^Choose a format: (.*)\.$/; // how the service lists them
const LONGEST_IDENTITY = 400; // characters; about 50 to 100 tokens

export default function Add({ me, beats }) {
  const may = (operation) => me.operations.includes(operation);
  return html`<${Head} title="Put in">Tell the memory something, or bring files along.</>
    <div class="stack">
      ${may("add") && html`<${Remember} />`}
      ${may("add") && html`<${Files} me=${me} />`}
      ${may("identity") && html`<${Identity} beats=${beats} />`}
    </div>`;
}

function Remember() {
  const [text, setText] = useState("");
  const [speaker, setSpeaker] = useState(localStorage.getItem(YOU) || "");
  const [more, setMore] = useState({});
  const [state, setState] = useState({});
  const save = (event) => {
    event.preventDefault();
    setState({ busy: true });
    if (speaker.trim()) localStorage.setItem(YOU, speaker.trim());
    const given = { text: text.trim(), speaker: speaker.trim() || undefined, session: more.session?.trim() || undefined, wing: more.wing?.trim() || undefined, at: more.at ? new Date(more.at).toISOString() : undefined };
    change("add", given).then((done) => {
      setText("");
      setState({ done });
      if (done.new === false) return tell("This was remembered before."); // to undo it would forget the message of before
      tell("Remembered.", { label: "Undo", run: () => change("forget", { ids: [done.id] }).then(() => { setState({}); tell("It was forgotten again."); }) });
    }, (error) => setState({ error }));
  };
  const keys = (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && text.trim()) save(event);
  };
  const field = (name, title, type = "text", hint = "") => html`<label class="field">${title}<input type=${type} placeholder=${hint} value=${more[name] || ""} onInput=${(event) => setMore({ ...more, [name]: event.target.value })} /></label>`;
  return html`<form class="card stack tight" onSubmit=${save} aria-labelledby="remember">
    <h2 id="remember">Remember this …</h2>
    <textarea rows="3" aria-label="What to remember" placeholder="I moved to Porto yesterday." value=${text} onInput=${(event) => setText(event.target.value)} onKeyDown=${keys}></textarea>
    <div class="row"><label class="field">Who says it<input value=${speaker} placeholder="Ana" autocomplete="off" onInput=${(event) => setSpeaker(event.target.value)} /></label>
      <details class="grow"><summary class="small soft">When, and where it belongs</summary><div class="row below-small">${field("at", "When it was said", "datetime-local")}${field("session", "Conversation", "text", "none")}${field("wing", "Wing (a person or project)", "text", "none")}</div></details></div>
    ${state.error && html`<${Trouble} error=${state.error} />`}
    <div class="row"><button class="main" disabled=${!text.trim() || state.busy}>Remember</button>${state.done && html`<a href=${linkTo.event(state.done.id)}>Show it</a>`}<span class="small quiet keys"><kbd>Ctrl</kbd> <kbd>Enter</kbd></span></div>
  </form>`;
}

function Files({ me }) {
  const [files, setFiles] = useState([]);
  const [over, setOver] = useState(false);
  const picked = useRef();
  const take = (list) => setFiles((before) => [...before, ...[...list].map((file) => ({ file, key: `${file.name} ${file.size} ${Math.random()}` }))]);
  const drop = (event) => {
    event.preventDefault();
    setOver(false);
    take(event.dataTransfer.files);
  };
  const zone = (value) => Intl.DateTimeFormat().resolvedOptions().timeZone || value;
  return html`<section class="card stack tight" aria-labelledby="files"><h2 id="files">Import files</h2>
    <div class=${`drop${over ? " over" : ""}`} onDragOver=${(event) => { event.preventDefault(); setOver(true); }} onDragLeave=${() => setOver(false)} onDrop=${drop}>
      <p>Drop files here, or <button onClick=${() => picked.current.click()}>Choose files</button></p>
      <p class="small quiet">Chats from ChatGPT, Claude, Claude Code, Codex, Gemini, Slack, Telegram and WhatsApp; mail (mbox); notes, PDF and Word files; CSV; zips of these; and what Everyword exports. You see a preview first.</p>
      <input ref=${picked} type="file" multiple class="hidden" aria-label="Files to import" tabindex="-1" onChange=${(event) => { take(event.target.files); event.target.value = ""; }} /></div>
    ${files.length > 0 && html`<ul class="list">${files.map((one) => html`<li key=${one.key}><${Import} file=${one.file} zone=${zone("UTC")} me=${me} onRemove=${() => setFiles((before) => before.filter((other) => other !== one))} /></li>`)}</ul>`}</section>`;
}

/** One file: preview, then progress, then a summary. */
function Import({ file, zone, onRemove }) {
  const [state, setState] = useState({ step: "reading" });
  const begun = useRef();
  const [format, setFormat] = useState(); // chosen where the service does not recognise it
  const formats = useRef();
  const options = format ? { tz: zone, format } : { tz: zone };
  const failed = (error) => {
    formats.current = FORMATS.exec(error.problem?.fix)?.[1].split(", ") || formats.current;
    setState({ step: "failed", error: formats.current ? { ...error, problem: { ...error.problem, fix: "" } } : error });
  };
  useEffect(() => {
    if (file.size > PREVIEWED_BYTES) return setState({ step: "ready" });
    setState({ step: "reading" });
    upload("import", file, { preview: true, ...options }).then((preview) => setState({ step: "ready", preview }), failed);
  }, [format]);
  const go = async () => {
    setState((before) => ({ ...before, step: "sending", share: 0 }));
    begun.current = (await read("activity", { parts: 1 })).events;
    const counting = setInterval(() => read("activity", { parts: 1 }).then(({ events }) => setState((before) => ({ ...before, stored: events - begun.current })), () => undefined), 1000);
    upload("import", file, options, (share) => setState((before) => ({ ...before, share }))).then(
      (done) => {
        setState({ step: "done", done });
        tell(`Imported ${file.name}: ${count(done.added, "new message")}.`);
      }, failed).finally(() => clearInterval(counting));
  };
  const { step, preview, share, stored, done, error } = state;
  const total = preview?.read;
  return html`<article class="card sunk stack tight" aria-label=${file.name}><div class="row"><h3 class="grow">${file.name}</h3><span class="small quiet">${size(file.size)}</span>
      ${step === "ready" && preview?.read !== 0 && html`<button class="main" onClick=${go}>${preview ? `Import ${count(preview.read, "message")}` : "Import without a preview"}</button>`}
      ${step !== "sending" && html`<button class="plain" aria-label=${`Remove ${file.name} from this list`} onClick=${onRemove}>${step === "done" ? "Close" : "Cancel"}</button>`}</div>
    ${step === "reading" && html`<${Waiting} lines=${1} />`}
    ${step === "ready" && !preview && html`<p class="soft small">It is too large for a preview.</p>`}
    ${step === "ready" && preview && html`<p class="soft small">${preview.read ? `Recognised as ${preview.format}. ` : "There is no message in this file. "}${preview.redacted && Object.keys(preview.redacted).length > 0 ? `${count(sum(preview.redacted), "secret")} will be removed before anything is stored. ` : ""}${left(preview)}</p>
      ${preview.sample.map((event) => html`<blockquote key=${event.id}><p class="said small" dir="auto">${Array.from(event.text).slice(0, 240).join("")}</p><footer class="meta">${event.speaker && html`<b>${event.speaker}</b>`}<span>${moment(event.at)}</span></footer></blockquote>`)}
      ${preview.read > preview.sample.length && html`<p class="small quiet">and ${count(preview.read - preview.sample.length, "more message")}</p>`}`}
    ${step === "sending" && html`<div><progress max="1" aria-label=${`Importing ${file.name}`} value=${share < 1 ? share : total ? Math.min(1, (stored || 0) / total) : undefined}></progress>
      <p class="small soft" role="status">${share < 1 ? `Sending, ${Math.round(100 * share)}%` : `Storing${stored ? `, ${count(stored, "message")} so far` : " …"}`}</p></div>`}
    ${step === "done" && html`<p role="status">${count(done.added, "new message")}${done.known ? `, ${count(done.known, "was", "were")} known before` : ""}. ${left(done)}${sum(done.redacted) ? `${count(sum(done.redacted), "secret")} removed. ` : ""}</p><p><a href="#/browse?what=messages">See what is there now</a></p>`}
    ${step === "failed" && html`<${Trouble} error=${error} />${formats.current && html`<label class="field">Format<${Choice} label="Format" value=${format || ""} options=${[["", "Choose one …"], ...formats.current]} onChange=${setFormat} /></label>`}`}</article>`;
}

const sum = (counts) => Object.values(counts || {}).reduce((a, b) => a + b, 0);

/** Say what an import leaves out, and why. */
function left({ skipped }) {
  const reasons = Object.entries(skipped || {}).map(([why, number]) => `${number.toLocaleString()} (${why})`);
  return reasons.length ? `Left out: ${reasons.join(", ")}. ` : "";
}

function Identity({ beats }) {
  const [round, setRound] = useState(0);
  const found = useAsked(() => change("identity", {}).then(({ identity }) => ({ identity: identity?.text || "" })), [round, beats.forgotten]);
  const [text, setText] = useState();
  const [error, setError] = useState();
  const shown = text ?? found.value?.identity ?? "";
  const before = found.value?.identity || "";
  const save = (event) => {
    event.preventDefault();
    setError(undefined);
    change("identity", { text: shown.trim() }).then(() => {
      setText(undefined);
      setRound(round + 1);
      tell("The agent’s identity was saved.", before && { label: "Undo", run: () => change("identity", { text: before }).then(() => { tell("The identity is as it was before."); setRound((now) => now + 1); }) });
    }, setError);
  };
  return html`<form class="card stack tight" onSubmit=${save} aria-labelledby="identity"><h2 id="identity">Who the agent is</h2>
    <p class="soft small">Every conversation of the agent begins with this. Two or three sentences are enough.</p>
    ${found.error ? html`<${Trouble} error=${found.error} />` : html`<textarea rows="3" aria-label="Identity" maxlength=${LONGEST_IDENTITY * 5} disabled=${!found.value} placeholder="I am Juno, Ana’s assistant. I keep track of her projects and remind her of promises." value=${shown} onInput=${(event) => setText(event.target.value)}></textarea>`}
    ${shown.length > LONGEST_IDENTITY && html`<p class="small quiet">This is long: ${shown.length.toLocaleString()} characters are read at the start of each conversation.</p>`}
    ${error && html`<${Trouble} error=${error} />`}
    <div class="row"><button class="main" disabled=${!shown.trim() || shown.trim() === before}>Save</button>${text !== undefined && text !== before && html`<button type="button" onClick=${() => setText(undefined)}>Discard changes</button>`}</div></form>`;
}

function size(bytes) {
  if (bytes < 1000) return `${bytes} bytes`;
  return bytes < 1e6 ? `${Math.round(bytes / 1000)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}
