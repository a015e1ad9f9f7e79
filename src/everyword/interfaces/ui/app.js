// The frame: navigation, space, theme, API key and live updates.

import { html, render, useEffect, useRef, useState } from "./vendor/preact-htm.js";
import { follow, gone, keep, read, scope, sendable } from "./api.js";
import { Choice, Empty, Head, Safe, Trouble, count, tell } from "./parts.js";

// A view is loaded when it is first opened. `needs`: the operations that it depends on.
const VIEWS = [
  { name: "know", title: "Ask", needs: ["ask", "context", "recall"], icon: "M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14Zm5 12 4 4" },
  { name: "people", title: "People", needs: ["entities", "timeline"], icon: "M9 11a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7Zm-6 9c0-4 2.7-6 6-6s6 2 6 6M16 4.5a3.5 3.5 0 0 1 0 6.4M18 14.4c2 .8 3 2.700 3 5.600" },
  { name: "timeline", title: "Timeline", needs: ["events", "held"], icon: "M3 12h18M7 8v8m5-10v12m5-9v6" },
  { name: "intents", title: "To do", needs: ["intents"], icon: "M4 6l2 2 3-4M4 13l2 2 3-4M4 20l2 2 3-4M13 6h7M13 13h7M13 20h7" },
  { name: "browse", title: "Browse", needs: ["sessions", "events"], icon: "M4 5h16v11H9l-5 4Z" },
  { name: "graph", title: "Graph", needs: ["map"], icon: "M6 7a2 2 0 1 0 0-.01M18 8a2 2 0 1 0 0-.01M12 18a2 2 0 1 0 0-.01M8 8l8 .5M7 9l4 7m2 0 4-6" },
  { name: "add", title: "Put in", needs: ["add"], icon: "M12 5v14M5 12h14" },
  { name: "forget", title: "Forget", needs: ["forget"], icon: "M5 7h14M10 7V4h4v3m-7 0 1 13h8l1-13" },
  { name: "health", title: "Health", needs: ["stats"], icon: "M3 12h4l2-6 4 12 2-6h6" },
];
const THEME = "everyword.theme";
const WIDE = ["know", "graph", "timeline", "people"]; // views that use the whole width
const NEWS_SHOWN_MS = 4000;
const TOLD_SHOWN_MS = 10_000; // long enough to press Undo
const NEWS_EVERY_MS = 500; // views refresh at most this often: an import brings thousands of changes

function App() {
  const [place, setPlace] = useState(here());
  const [me, setMe] = useState();
  const [error, setError] = useState();
  const [space, setSpace] = useState(null);
  const [spaces, setSpaces] = useState([]);
  const [news, setNews] = useState({ beats: {}, text: "" });
  const [told, setTold] = useState(); // what the user did, in words
  const [answers, setAnswers] = useState(true);
  const [layer, setLayer] = useState(); // a dialog that belongs to no view
  const [over, setOver] = useState(); // what lies over the page: "palette" or "keys"
  const [round, setRound] = useState(0);
  const begin = () => { // mount the view again from its address, which holds the question
    setPlace(here());
    setRound((before) => before + 1);
  };
  const enter = () => {
    setError(undefined);
    Promise.all([read("me"), read("spaces")]).then(
      ([found, known]) => {
        const wanted = here().query.space;
        scope.space = shownFirst(wanted || scope.space, found, known.spaces);
        if (wanted && wanted !== scope.space) tell(`There is no space “${wanted}” here.`);
        setSpace(scope.space);
        setSpaces(known.spaces);
        setMe(found);
      },
      setError,
    );
  };
  useEffect(() => {
    const known = VIEWS.some((one) => one.name === place.view);
    opened(known ? place.view : VIEWS[0].name).catch(() => undefined); // preload; Loaded reports errors
    enter();
  }, []);
  useEffect(() => {
    // Where there are several spaces, each address names its own. This is read and written at once, for the entry of
    // the history that is open: a moment later the user may have gone back to another.
    const moved = () => {
      const wanted = here().query.space;
      if (wanted !== scope.space && spaces.includes(wanted)) {
        scope.space = wanted;
        setSpace(wanted);
      } else if (wanted !== scope.space && spaces.length > 1) history.replaceState(history.state, "", within(scope.space));
      setPlace(here());
    };
    moved();
    const events = ["popstate", "everyword-moved"]; // the user went elsewhere, or a view wrote its state
    for (const event of events) addEventListener(event, moved);
    return () => events.forEach((event) => removeEventListener(event, moved));
  }, [spaces]);
  useEffect(() => {
    let ending;
    const show = ({ detail }) => {
      setTold(detail);
      clearTimeout(ending);
      ending = setTimeout(() => setTold(undefined), TOLD_SHOWN_MS);
    };
    addEventListener("everyword-told", show);
    return () => removeEventListener("everyword-told", show);
  }, []);
  useEffect(() => {
    const lay = ({ detail }) => setLayer(detail);
    addEventListener("everyword-overlay", lay);
    return () => removeEventListener("everyword-overlay", lay);
  }, []);
  useEffect(() => {
    setLayer(undefined);
    setOver(undefined);
  }, [place]);
  useEffect(() => {
    const again = () => (me ? begin() : enter());
    addEventListener("everyword-again", again);
    return () => removeEventListener("everyword-again", again);
  }, [me]);
  useEffect(() => {
    const locked = ({ detail }) => { // the key is invalid or has ended: ask for another
      keep("");
      setMe(undefined);
      setError(detail);
    };
    addEventListener("everyword-locked", locked);
    return () => removeEventListener("everyword-locked", locked);
  }, []);
  useEffect(() => {
    if (!me) return undefined;
    let gathered = {};
    let last = "";
    let showing;
    let ending;
    const show = () => {
      const [beats, words] = [gathered, last];
      [gathered, last, showing] = [{}, "", undefined];
      clearTimeout(ending);
      ending = setTimeout(() => setNews((before) => ({ ...before, text: "" })), NEWS_SHOWN_MS);
      setNews((before) => ({ beats: sum(before.beats, beats), text: words || before.text }));
    };
    const stop = follow((kind, one) => {
      if (kind === "position") return;
      gathered[kind] = (gathered[kind] || 0) + 1;
      last = describe(kind, one) || last;
      showing = showing || setTimeout(show, NEWS_EVERY_MS);
    }, (now) => setAnswers((before) => {
      if (now && !before) begin(); // retry what failed meanwhile
      return now;
    }));
    return () => {
      stop();
      clearTimeout(showing);
      clearTimeout(ending);
    };
  }, [me, space]);
  useEffect(() => {
    const pressed = (event) => {
      if (event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey) && !event.altKey && me) {
        event.preventDefault();
        setOver((before) => (before ? undefined : "palette"));
      }
      if (document.querySelector("dialog[open]")) return;
      if (event.target.matches("input:not([type=range]), textarea, select") || event.ctrlKey || event.metaKey || event.altKey) return;
      const chosen = VIEWS[Number(event.key) - 1];
      if (chosen && shown(chosen, me)) {
        location.hash = `#/${chosen.name}`;
        document.getElementById("main")?.focus(); // so that the next Tab enters the view
      }
      if (event.key === "/") {
        event.preventDefault();
        if (!document.querySelector("input[type=search]")) location.hash = `#/${VIEWS[0].name}`;
        setTimeout(() => document.querySelector("input[type=search]")?.select(), 50);
      }
      if (event.key === "t") turnTheme();
      if (event.key === "?") setOver("keys");
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  }, [me]);
  const view = VIEWS.find((one) => one.name === place.view) || VIEWS[0];
  useEffect(() => {
    document.title = me ? `${view.title} · Everyword` : "Everyword";
  }, [me, view]);
  if (error?.status === 401 || error?.status === 403) return html`<${Door} error=${error} onKey=${enter} />`;
  if (error) return html`<main><${Trouble} error=${error} /></main>`;
  if (!me) return html`<p class="quiet pad">Loading …</p>`;
  const choose = (name) => {
    location.hash = within(name);
  };
  const toMain = (event) => {
    event.preventDefault();
    document.getElementById("main").focus();
  };
  return html`<div class="frame">
    <a class="skip" href="#main" onClick=${toMain}>Skip to content</a>
    <aside class="side">
      <a class="brand" href=${`#/${VIEWS[0].name}`}><img src="icon.svg" alt="" />Everyword</a>
      <nav aria-label="Views">${VIEWS.filter((one) => shown(one, me)).map((one) => html`<a href=${`#/${one.name}`} aria-current=${one === view ? "page" : undefined}>
        <svg viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="1.7" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true"><path d=${one.icon} /></svg><span>${one.title}</span></a>`)}</nav>
      <div class="foot">
        ${spaces.some((one) => one !== space) && html`<label class="field">Space<${Choice} label="Space" value=${space} options=${spaces} onChange=${choose} /></label>`}
        <button class="plain small" onClick=${() => setOver("palette")}>Go to … <kbd>Ctrl K</kbd></button>
        <button class="plain small" onClick=${turnTheme}>Light or dark <kbd>t</kbd></button>
        <span class="quiet small keys">${me.version} · <kbd>?</kbd> for keys</span>
      </div>
    </aside>
    <main id="main" tabindex="-1" class=${WIDE.includes(view.name) ? "wide" : ""}>
      ${!shown(view, me) ? html`<${Head} title=${view.title} /><${Empty} title="Your key does not allow this">“${view.title}” needs a key with more permissions.</>` : html`<${Safe} name=${`${view.name} ${space} ${round}`}><${Loaded} key=${`${view.name} ${space} ${round}`} view=${view} rest=${place.rest} query=${place.query} me=${me} beats=${news.beats} /></>`}
    </main>
    ${layer}${over && html`<${Over} what=${over} views=${VIEWS.filter((one) => shown(one, me))} me=${me} onClose=${() => setOver(undefined)} />`}
    <div role="status">${!answers ? html`<div class="toast lost">The service does not answer. Reconnecting …</div>`
      : told ? html`<${Told} told=${told} onEnd=${() => setTold(undefined)} />` : news.text && html`<div class="toast" dir="auto">${news.text}</div>`}</div>
  </div>`;
}

/** The palette or the list of keys; loaded when it is first opened. */
function Over({ what, views, me, onClose }) {
  const [module, setModule] = useState();
  useEffect(() => {
    import("./palette.js").then(setModule, () => tell(gone().message));
  }, []);
  if (!module) return null;
  const commands = [...views.map((view) => ({ title: view.title, hint: "view", href: `#/${view.name}` })), { title: "Browse statements", hint: "view", href: "#/browse?what=statements" }, { title: "Light or dark", hint: "colours", run: turnTheme }, { title: "Copy a link to this view", run: () => navigator.clipboard?.writeText(location.href).then(() => tell("The link was copied.")) }];
  return what === "keys" ? html`<${module.Keys} views=${views} onClose=${onClose} />` : html`<${module.Palette} commands=${commands} me=${me} onClose=${onClose} />`;
}

/** What the user did, in words, with a way to take it back. */
function Told({ told, onEnd }) {
  const act = () => {
    onEnd();
    told.action.run().catch((error) => tell(error.message));
  };
  return html`<div class="toast" dir="auto"><span>${told.text}</span>${told.action && html`<button onClick=${act}>${told.action.label}</button>`}</div>`;
}

/** Load a view's module, then show it. */
function Loaded({ view, ...rest }) {
  const [state, setState] = useState({});
  useEffect(() => {
    opened(view.name).then((module) => setState({ View: module.default }), () => setState({ error: gone() }));
  }, [view.name]);
  if (state.error) return html`<${Trouble} error=${state.error} />`;
  return state.View ? html`<${state.View} ...${rest} />` : html`<p class="quiet">…</p>`;
}

const failed = {}; // how often a view could not be fetched

/** Import a view. A browser may cache a failed import, so a retry uses another URL. */
function opened(name) {
  const again = failed[name] ? `?${failed[name]}` : "";
  return import(`./views/${name}.js${again}`).catch((error) => {
    failed[name] = (failed[name] || 0) + 1;
    throw error;
  });
}

/** Ask for a key. */
function Door({ error, onKey }) {
  const [key, setKey] = useState("");
  const tried = error.message !== error.problem.title; // otherwise it only says that a key is needed
  const field = useRef();
  useEffect(() => field.current.focus(), [error]);
  const odd = key.trim() && !sendable(key.trim());
  const enter = (event) => {
    event.preventDefault();
    if (odd) return;
    keep(key.trim());
    onKey();
  };
  return html`<main><form class="card stack" onSubmit=${enter}>
    <h1>API key required</h1>
    ${tried && html`<p class="card problem" role="alert">${error.message}</p>`}
    <p class="soft">Create a key with <code>everyword keys create NAME --space SPACE</code>. The browser keeps it until you close this window.</p>
    <label class="field">Key<input ref=${field} type="password" value=${key} onInput=${(event) => setKey(event.target.value)} autocomplete="off" /></label>
    ${odd && html`<p class="problem" role="alert">This contains characters that are not valid in a key. Copy it again.</p>`}
    <div><button class="main" disabled=${!key.trim() || odd}>Open</button></div>
  </form></main>`;
}

/** Choose the first space to show: the previous one, the default, or any that has content. */
function shownFirst(before, me, known) {
  const open = known.length ? known : me.spaces.filter((one) => !one.includes("*"));
  return [before, me.space].find((one) => one && open.includes(one)) || open[0] || me.space;
}

function shown(view, me) {
  return view.needs.every((name) => me?.operations.includes(name));
}

function sum(one, other) {
  const both = { ...one };
  for (const [kind, number] of Object.entries(other)) both[kind] = (both[kind] || 0) + number;
  return both;
}

function describe(kind, one) {
  if (kind === "event") return `New message: ${Array.from(one.item.text).slice(0, 80).join("")}`;
  if (kind === "concept") return `New theme: ${one.item.label}`;
  if (kind === "intent") return one.item.status === "pending" ? `New goal: ${Array.from(one.item.statement).slice(0, 80).join("")}` : "";
  if (kind === "forgotten") return one.item.events ? `Forgotten: ${count(one.item.events, "message")}` : "";
  if (kind === "jobs") {
    const waiting = Object.values(one).reduce((sum, job) => sum + job.waiting, 0);
    return waiting ? `${count(waiting, "job")} queued` : "";
  }
  return "";
}

// Views that were merged into others: their old addresses still work.
const MOVED = [[/^#\/sessions\/([^?]+)/, "#/browse/session/$1"], [/^#\/sessions/, "#/browse"], [/^#\/statements\/([^?]+)/, "#/browse/statement/$1"], [/^#\/statements/, "#/browse"], [/^#\/palace[^?]*/, "#/browse"]];

function here() {
  const moved = MOVED.find(([from]) => from.test(location.hash));
  if (moved) history.replaceState(history.state, "", location.hash.replace(...moved));
  const [path, query] = location.hash.replace(/^#\//, "").split(/\?(.*)/s);
  const [view, ...rest] = path.split("/").map(decodePart);
  return { view, rest, query: Object.fromEntries(new URLSearchParams(query)) };
}

/** Write the address of what is shown, in another space. */
function within(space) {
  const [path, query] = (location.hash || `#/${VIEWS[0].name}`).split(/\?(.*)/s);
  const named = new URLSearchParams(query);
  named.set("space", space);
  return `${path}?${named}`;
}

function decodePart(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function turnTheme() {
  const dark = document.documentElement.dataset.theme !== "dark";
  localStorage.setItem(THEME, dark ? "dark" : "light");
  theme();
}

function theme() {
  const kept = localStorage.getItem(THEME);
  const dark = kept ? kept === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  dispatchEvent(new Event("everyword-theme"));
}

theme();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", theme);
render(html`<${App} />`, document.getElementById("app"));
