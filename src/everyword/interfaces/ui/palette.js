// The command palette: go anywhere, find a name or a conversation, or ask, from the keyboard. And the list of keys.

import { useEffect, useRef, useState } from "./vendor/preact-htm.js";
import { read } from "./api.js";
import { Dialog, html, linkTo } from "./parts.js";

const PAUSE_MS = 120; // after the last key
const FOUND = 5; // names and conversations

/** Offer what fits the words typed so far. `commands`: { title, hint, run }. */
export function Palette({ commands, me, onClose }) {
  const [text, setText] = useState("");
  const [found, setFound] = useState([]);
  const [chosen, setChosen] = useState(0);
  const list = useRef();
  const words = text.trim();
  useEffect(() => {
    if (!words) return setFound([]);
    const calling = new AbortController();
    const timer = setTimeout(() => Promise.all([
      me.operations.includes("entities") ? read("entities", { prefix: words, limit: FOUND }, calling.signal) : { entities: [] },
      me.operations.includes("glance") ? read("glance", { query: words, k: FOUND * 2 }, calling.signal) : { hits: [] },
    ]).then(([names, { hits }]) => {
      const sessions = new Map(hits.filter((hit) => hit.event.session).map((hit) => [hit.event.session, hit]));
      setFound([
        ...names.entities.map((one) => ({ title: one.name, hint: one.type, href: linkTo.person(one.name) })),
        ...[...sessions].slice(0, FOUND).map(([name, hit]) => ({ title: name, hint: `conversation: “${Array.from(hit.quote).slice(0, 60).join("")}”`, href: linkTo.session(name, hit.event.id) })),
      ]);
    }, () => setFound([])), PAUSE_MS);
    return () => {
      clearTimeout(timer);
      calling.abort();
    };
  }, [words]);
  const fits = commands.filter((one) => one.title.toLowerCase().includes(words.toLowerCase()));
  const query = encodeURIComponent(words);
  const offers = words ? [...fits, ...found, { title: `Ask “${words}”`, hint: "what did the agent know?", href: `#/know?q=${query}` }, { title: `Search messages for “${words}”`, href: `#/browse?what=messages&q=${query}` }] : commands;
  const at = Math.min(chosen, offers.length - 1);
  const go = (offer) => {
    onClose();
    if (offer.href) location.hash = offer.href;
    else offer.run();
  };
  const pressed = (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) {
      event.preventDefault();
      const next = (at + step + offers.length) % offers.length;
      setChosen(next);
      list.current.children[next]?.scrollIntoView({ block: "nearest" });
    } else if (event.key === "Enter") {
      event.preventDefault();
      go(offers[at]);
    }
  };
  const field = useRef();
  useEffect(() => field.current.focus(), []);
  return html`<${Dialog} title="Go to" plain onClose=${onClose}>
    <input ref=${field} type="text" class="big" role="combobox" aria-expanded="true" aria-controls="offers" aria-activedescendant=${`offer-${at}`} aria-label="Go to a view, a name or a conversation" placeholder="A view, a name, a conversation, a question" value=${text} autocomplete="off"
      onInput=${(event) => { setText(event.target.value); setChosen(0); }} onKeyDown=${pressed} />
    <ul class="offers" id="offers" role="listbox" aria-label="Offers" ref=${list}>${offers.map((offer, place) => html`<li id=${`offer-${place}`} role="option" aria-selected=${place === at} onClick=${() => go(offer)} onMouseMove=${() => setChosen(place)}><span dir="auto">${offer.title}</span>${offer.hint && html`<span class="small quiet">${offer.hint}</span>`}</li>`)}</ul></>`;
}

/** The keys that work everywhere. */
export function Keys({ views, onClose }) {
  const keys = [["Ctrl K or ⌘ K", "go to a view, a name or a conversation"], ["/", "search or ask"], ["?", "show these keys"], ["t", "light or dark"], ...views.map((view, place) => [String(place + 1), view.title]), ["Esc", "close a dialog or menu"], ["Ctrl Enter", "in Put in: remember"], ["+  −  ←  →  Home", "in Timeline: zoom, move, show all"]];
  return html`<${Dialog} title="Keys" onClose=${onClose}><dl class="keys-list">${keys.map(([key, what]) => html`<div><dt><kbd>${key}</kbd></dt><dd>${what}</dd></div>`)}</dl></>`;
}
