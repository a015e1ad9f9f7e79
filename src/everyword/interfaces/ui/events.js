// A message as a line of a conversation, and the menu that every message has.

import { useEffect, useRef, useState } from "./vendor/preact-htm.js";
import { change, read } from "./api.js";
import { Lanes, lanesOf } from "./know/lanes.js";
import { Dialog, Said, Trouble, Waiting, day, html, linkTo, moment, ms, overlay, placeOf, tell, useAsked } from "./parts.js";

const ALL = [0, 1 << 30]; // a span that covers any text
const SOURCES = { assistant: "", user: "", import: "", tool: "from a tool", web: "from a web page" };

/** One message. `marked`: the line that a link leads to. `apart`: not in its conversation, so it says where it is from. */
export function Message({ event, span, marked, apart, me, onChanged, onEdited, children }) {
  const here = useRef();
  useEffect(() => {
    if (marked) here.current.scrollIntoView({ block: "center" });
  }, [marked]);
  const note = SOURCES[event.source];
  return html`<article class=${`message${marked ? " marked" : ""}${event.role === "assistant" ? " machine" : ""}`} ref=${here} aria-current=${marked ? "true" : undefined}>
    <div class="who">${event.speaker && html`<b dir="auto">${event.record ? editorOf(me)(event.speaker) : event.speaker}</b>`}<a class="tabular quiet" href=${placeOf(event)} title="Link to this message">${moment(event.at)}</a></div>
    <div class="words"><${Said} text=${event.text} span=${span} />
      ${(apart || note || event.record || children) && html`<div class="meta">${apart && event.session && html`<a href=${linkTo.session(event.session, event.id)}>${event.session}</a>`}
        ${event.wing && apart && html`<span class="tag">${event.wing}</span>`}${note && html`<span class="tag">${note}</span>`}${event.record && html`<span class="tag on">an edit</span>`}${children}</div>`}</div>
    <${EventMenu} event=${event} me=${me} onChanged=${onChanged} onEdited=${onEdited} /></article>`;
}

/** What can be done with a message. `onChanged`: it is gone; `onEdited`: what was read from it has changed. */
export function EventMenu({ event, me, onChanged = () => undefined, onEdited = () => undefined }) {
  const may = (operation) => me.operations.includes(operation);
  const copy = (text, what) => navigator.clipboard?.writeText(text).then(() => tell(`${what} was copied.`), () => tell("The browser did not allow copying."));
  const address = () => `${location.origin}${location.pathname}${placeOf(event)}`;
  return html`<${Menu} label=${`Actions for the message of ${moment(event.at)}`}>
      ${may("history") && html`<button onClick=${() => overlay(html`<${Read} event=${event} me=${me} onClose=${() => overlay()} onChanged=${onEdited} />`)}>${may("correct") ? "Correct what was read …" : "What was read from it"}</button>`}
      <a href=${placeOf(event)}>Show what was said around it</a>
      <button onClick=${() => copy(address(), "The link")}>Copy link</button>
      <button onClick=${() => copy(event.id, "The id")}>Copy id</button>
      ${may("forget") && html`<button class="danger" onClick=${() => overlay(html`<${ForgetOne} event=${event} onClose=${() => overlay()} onChanged=${onChanged} />`)}>Forget …</button>`}</>`;
}

/** A button that opens a list of actions; it closes when one is chosen or the focus leaves. */
export function Menu({ label, children }) {
  const here = useRef();
  const close = () => here.current?.removeAttribute("open");
  const left = (event) => here.current.contains(event.relatedTarget) || close();
  const pressed = (event) => {
    if (event.key !== "Escape" || !here.current.open) return;
    event.stopPropagation();
    close();
    here.current.firstElementChild.focus();
  };
  return html`<details class="menu" ref=${here} onFocusOut=${left} onKeyDown=${pressed}><summary aria-label=${label} title="Actions">⋯</summary><div onClick=${() => setTimeout(close)}>${children}</div></details>`;
}

/** What was read from a message, each with its versions and edits. */
export function Read({ event, me, onClose, onChanged }) {
  const [round, setRound] = useState(0);
  const story = useAsked((signal) => read("history", { events: [event.id] }, signal), [event.id, round]);
  const changed = () => {
    setRound((before) => before + 1);
    onChanged();
  };
  const versions = story.value?.versions || [];
  const begin = Math.min(Date.now() - 1, ...versions.map((one) => ms(one.statement.valid_from || one.said_at)));
  const lanes = lanesOf(versions, Infinity, new Map(versions.map((one) => [one.statement.event_id, ALL])));
  return html`<${Dialog} title="What was read from this message" onClose=${onClose}>
    <blockquote><p class="said" dir="auto">${short(event.text)}</p><footer class="meta">${event.speaker && html`<b>${event.speaker}</b>`}<span>${moment(event.at)}</span></footer></blockquote>
    ${story.error && html`<${Trouble} error=${story.error} />`}
    ${lanes.length ? html`<${Lanes} lanes=${lanes} span=${{ begin, now: Date.now() }} at=${Date.now()} may=${(one) => me.operations.includes(one)} editor=${editorOf(me)} onChanged=${changed} />`
      : story.busy ? html`<${Waiting} lines=${1} />` : html`<p class="soft">Nothing was read from it, so there is nothing to correct. The message itself is kept as it was said.</p>`}</>`;
}

function ForgetOne({ event, onClose, onChanged }) {
  const [error, setError] = useState();
  const [busy, setBusy] = useState(false);
  const forget = () => {
    setBusy(true);
    change("forget", { ids: [event.id] }).then(() => {
      tell(`Forgotten for good: the message of ${day(event.at)}.`);
      onClose();
      onChanged();
    }, setError).finally(() => setBusy(false));
  };
  return html`<${Dialog} title="Forget this message for good?" onClose=${onClose}>
    <p class="said" dir="auto">“${short(event.text)}”</p>
    <p class="soft">It is deleted, with every statement and fact read from it. This can’t be undone.</p>
    ${error && html`<${Trouble} error=${error} />`}
    <div class="row"><button class="danger" disabled=${busy} onClick=${forget}>Forget it</button></div></>`;
}

/** Name whoever edited: "you" for this page's own key. */
export const editorOf = (me) => (name) => (name === (me.key?.name || "user") ? "you" : name);

const QUOTED = 400; // characters of a message in a dialog
const short = (text) => (Array.from(text).length > QUOTED ? `${Array.from(text).slice(0, QUOTED).join("")} …` : text);
