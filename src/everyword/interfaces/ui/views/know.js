// "What did the agent know?": a question at a point in time, with the answer, the context an agent would get, and the
// facts behind it. The address holds all of it.

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "../vendor/preact-htm.js";
import { read } from "../api.js";
import { Choice, Empty, Head, Said, Trouble, Waiting, addressOf, count, day, html, moment, ms, placeOf, tell, useArrival, useAsked, useTyped } from "../parts.js";
import { Context, reasonsOf } from "../know/context.js";
import { Lanes, lanesOf } from "../know/lanes.js";
import { Scrubber, activityOf, endOf, named, spanOf, unitOf, useFollowed, usePlayback } from "../know/time.js";

const PAUSE_MS = 220; // after the last key or move before the service is asked
const BURST_MS = 2500; // changes of one control within this time are one step of the history
const BUDGETS = [150, 300, 600, 1200, 2000, 4000]; // tokens
const BUDGET = 1200;
const TOKENS_A_LINE = 20; // a context is made from so many hits: budget / TOKENS_A_LINE, as the service does it
const LIKELY = 0.8; // confidence from which an answer is called likely
const BIG = 140; // characters of a quote that is set large
const OTHERS = 5; // quotes shown below the answer
const TOUCHING = 4; // first hits whose facts are shown
const PARTS = 120; // of the silhouette above the slider
const NARROW = matchMedia("(max-width: 1240px)"); // less than three columns, as in style.css
const NOTHING = "nothing";
const IDEAS = { lives_in: "Where does NAME live?", works_at: "Where does NAME work?" }; // questions by a relation that is known
const FACTS = 200; // read for them
const SURE = 0.8; // confidence of a fact that a question is made from
const WEEK_MS = 7 * 86_400_000;

export default function Know({ query, me, beats }) {
  const activity = useAsked((signal) => activityOf({ parts: PARTS }, signal), [beats.event, beats.forgotten]);
  return html`<${Title} /><${Asking} query=${query} me=${me} beats=${beats} activity=${activity.value} error=${activity.error} />`;
}

function Title() {
  return html`<${Head} title="What did the agent know?">Ask a question, and move through time to see how the answer changed.</>`;
}

function Asking({ query, me, beats, activity, error }) {
  const asked = { q: (query.q || "").trim(), at: endOf(query.at) === undefined ? "" : query.at, against: query.against || "", budget: BUDGETS.find((one) => String(one) === query.budget) || BUDGET };
  const [round, setRound] = useState(0); // counts edits
  const last = useRef({}); // the control used last, and when: a burst of changes is one step of the history
  const box = useRef();
  const go = (control, changes) => {
    const burst = last.current.control === control && Date.now() - last.current.when < BURST_MS;
    last.current = { control, when: Date.now() };
    addressOf("know", [], query)(changes.budget === BUDGET ? { budget: "" } : changes, burst);
  };
  useEffect(() => box.current?.focus({ preventScroll: true }), []);
  const [text, setText, ask] = useTyped(asked.q, (q) => go("question", { q }), PAUSE_MS);
  const span = useMemo(() => (activity?.events ? spanOf(activity) : undefined), [activity]);
  const play = usePlayback(span, (at) => go("play", { at }));
  const [moving, setMoving] = useState(); // the time under the slider, until it rests
  const at = play.playing ? play.shown : moving ?? asked.at;
  const scrub = (to) => {
    play.leave();
    setMoving(to);
  };
  useLayoutEffect(() => { // a browser allows only so many changes of the address
    if (moving === undefined) return undefined;
    const timer = setTimeout(() => {
      setMoving(undefined);
      go("time", { at: moving });
    }, PAUSE_MS);
    return () => clearTimeout(timer); // at once: an effect that runs later may let an older time be written
  }, [moving]);
  useArrival(() => {
    last.current = {};
    setMoving(undefined);
    play.leave();
  });
  const changed = ({ now }) => {
    setRound((before) => before + 1);
    if (now && at) go("edit", { at: "" }); // a correction is made now: before, nobody knew it
  };
  const submit = (event) => {
    event.preventDefault();
    ask();
  };
  return html`<div class="stack know-top">
      <form role="search" onSubmit=${submit}><label class="hidden" for="question">Question</label>
        <input id="question" ref=${box} class="big" type="search" placeholder="Ask about what was said" value=${text} onInput=${(event) => setText(event.target.value)} autocomplete="off" /></form>
      ${!activity && html`<div class="scrub" />`}${span?.steps > 0 && html`<${Scrubber} span=${span} at=${at} onChange=${scrub} playing=${play.playing} onPlay=${play.playing ? play.pause : play.start} />`}
    </div>
    ${error && html`<${Trouble} error=${error} />`}
    ${activity && !activity.events ? html`<${Empty} title="This memory is empty"><a href="#/add">Tell it something or import files</a>, and ask about it here.</>`
      : asked.q ? html`<${Known} asked=${{ ...asked, at }} me=${me} span=${span} beats=${beats} round=${round} go=${go} onChanged=${changed} />`
        : activity && html`<${Begin} activity=${activity} at=${at} may=${(one) => me.operations.includes(one)} onAsk=${setText} />`}`;
}

/** Shown before the first question. */
function Begin({ activity, at, may, onAsk }) {
  const { all: events, speakers } = activity;
  const until = at ? new Date(endOf(at)).toISOString() : undefined;
  const before = useAsked((signal) => (until ? read("activity", { until, parts: 1 }, signal) : Promise.resolve({ events })), [until, events]);
  const stats = useAsked((signal) => read("stats", {}, signal), [events]);
  const ideas = useAsked((signal) => (may("facts") ? ideasOf(speakers, signal) : Promise.resolve([])), [events]);
  const decided = stats.value?.statements?.decision;
  const recent = !at && Date.now() - ms(activity.end) < WEEK_MS;
  const then = at ? `at=${at.slice(0, 10)}` : "";
  return html`<div class="stack below"><p class="soft">${before.value && (until ? `${count(before.value.events, "message")} until ${named(at)}, of ${events.toLocaleString()}.`
    : stats.value && [count(events, "message"), stats.value.sessions && `in ${count(stats.value.sessions, "conversation")}`, stats.value.speakers && `by ${count(stats.value.speakers, "speaker")}`].filter(Boolean).join(" ") + ".")}</p>
    <div class="row">${(ideas.value || []).map((idea) => html`<button class="chip" onClick=${() => onAsk(idea)}>${idea}</button>`)}
      ${may("intents") && html`<a class="chip" href=${`#/intents?${then}`}>What is still to be done</a>`}
      ${decided && may("statements") && html`<a class="chip" href=${`#/browse?what=statements&kind=decision&${then}`}>What was decided</a>`}
      ${recent && may("held") && html`<a class="chip" href=${`#/timeline?from=${weekAgo()}&to=${new Date().toISOString().slice(0, 16)}Z`}>The last week</a>`}</div></div>`;
}

const weekAgo = () => `${new Date(Date.now() - WEEK_MS).toISOString().slice(0, 16)}Z`;

/** Make questions from what is surely true of those who speak here. */
async function ideasOf(speakers, signal) {
  const { facts } = await read("facts", { limit: FACTS }, signal);
  const known = facts.filter((one) => !one.valid_to && one.confidence >= SURE && speakers.includes(one.subject));
  return Object.entries(IDEAS).flatMap(([relation, question]) => known.filter((one) => one.relation === relation).slice(0, 1).map((one) => question.replace("NAME", () => one.subject)));
}

/** The three columns: answer, context, facts. */
function Known({ asked, me, span, beats, round, go, onChanged }) {
  const { q, against, budget } = asked;
  const [working, setWorking] = useState(false);
  const at = useFollowed(asked.at, working);
  const moments = at ? { until: new Date(endOf(at)).toISOString(), now: new Date(endOf(at)).toISOString() } : {};
  const news = [round, beats.event, beats.statement, beats.forgotten];
  const answer = useAsked((signal) => answered(q, moments, signal), [q, at, ...news]);
  const seen = useAsked((signal) => packed(q, moments, { at, against, budget }, signal), [q, at, against, budget, ...news]);
  const spans = answer.value?.answered && seen.value ? quoted(answer.value, seen.value.found) : new Map();
  const touched = [...spans.keys()];
  const story = useAsked((signal) => (touched.length && me.operations.includes("history") ? read("history", { events: touched }, signal) : Promise.resolve({ versions: [] })), [touched.join(" "), ...news]);
  const busy = answer.busy || seen.busy || story.busy;
  useEffect(() => setWorking(busy), [busy]);
  const may = (operation) => me.operations.includes(operation);
  const mine = me.key?.name || "user"; // as the service names whoever edits
  const editor = (name) => (name === mine ? "you" : name);
  const lanes = useMemo(() => lanesOf(story.value?.versions || [], at ? endOf(at) : Infinity, spans), [story.value, at]);
  const copy = () => navigator.clipboard?.writeText(seen.value.context.text).then(() => tell("The context was copied."));
  return html`<div class="know" aria-busy=${busy}>
    <section class="answer" aria-label="Answer">
      ${answer.error ? html`<${Trouble} error=${answer.error} />` : !answer.value ? html`<${Waiting} lines=${1} />`
        : html`<${Answer} answer=${answer.value} at=${at} editor=${editor} />`}
      ${answer.value && seen.value && html`<${Others} answer=${answer.value} found=${seen.value.found} />`}
    </section>
    <section class="card stack tight context" aria-labelledby="context-title">
      <div class="row"><h2 class="grow" id="context-title">Context</h2>
        <${Choice} label="Budget" value=${String(budget)} options=${BUDGETS.map((one) => [String(one), `${one.toLocaleString()} tokens`])} onChange=${(chosen) => go("budget", { budget: Number(chosen) })} /></div>
      <${Against} against=${against} span=${span} shown=${seen.value?.against} onChange=${(chosen) => go("against", { against: chosen })} />
      ${seen.error ? html`<${Trouble} error=${seen.error} />` : !seen.value ? html`<${Waiting} lines=${2} />`
        : html`<${Context} context=${seen.value.context} before=${seen.value.before} found=${seen.value.found} editor=${editor} onCopy=${copy} />`}
    </section>
    <section class="facts" aria-labelledby="facts-title"><h2 id="facts-title">Facts behind it</h2>
      ${story.error && html`<${Trouble} error=${story.error} />`}
      ${lanes.length && span ? html`<${Lanes} lanes=${lanes} span=${span} at=${at ? endOf(at) : span.now} may=${may} editor=${editor} onChanged=${onChanged} />`
        : !busy && html`<p class="quiet">${answer.value?.answered ? "No fact was read from these quotes." : "No fact answers this question."}</p>`}
    </section>
  </div>`;
}

/** Ask, and read the events that the answer quotes. */
async function answered(query, moments, signal) {
  const answer = await read("ask", { query, ...moments }, signal);
  const ids = [...new Set(answer.citations.map((one) => one.event_id))];
  const events = await Promise.all(ids.map((id) => read("show", { id }, signal)));
  return { ...answer, events: new Map(events.map((event) => [event.id, event])) };
}

/** Read the context of now and the one it is compared with, and the hits that say why. */
async function packed(query, moments, { at, against, budget }, signal) {
  const k = Math.max(10, Math.floor(budget / TOKENS_A_LINE));
  const earlier = comparedWith(at, against, moments, signal).then(async (chosen) => ({
    against: chosen,
    before: chosen.until ? await read("context", { query, budget, until: chosen.until, now: chosen.until }, signal) : undefined,
  }));
  const [context, found, before] = await Promise.all([read("context", { query, budget, ...moments }, signal), read("recall", { query, k, ...moments }, signal), earlier]);
  return { context, found, ...before };
}

/** Choose the time to compare with: a date, nothing, or the end of the session before the last. */
async function comparedWith(at, against, moments, signal) {
  if (against === NOTHING) return { words: NOTHING };
  const end = endOf(against);
  if (end !== undefined) return { until: new Date(end).toISOString(), words: named(against) };
  const { sessions } = await read("sessions", { until: moments.until, limit: 2 }, signal);
  if (sessions.length < 2) return { words: NOTHING };
  return { until: sessions[0].first_at, words: day(sessions[1].last_at), session: true };
}

/** Choose the events whose facts are shown, with the spans that are quoted: those of the answer, then the first hits. */
function quoted(answer, found) {
  const hits = found.hits.slice(0, TOUCHING).map((hit) => [hit.event.id, hit.span]);
  const cited = answer.citations.map((one) => [one.event_id, one.span]);
  const first = new Map(cited);
  return new Map([...cited, ...hits.filter(([id]) => !first.has(id))]);
}

/** Say in words how sure an answer is. */
function sureness({ answered: there, confidence }, at) {
  if (!there) return { words: at ? `Not in this memory by ${named(at)}` : "Not in this memory", low: true };
  if (confidence === null || confidence === undefined) return { words: "Best match", title: "This memory’s embedder does not estimate how sure an answer is." };
  return confidence >= LIKELY ? { words: "Likely" } : { words: "Unsure", low: true };
}

function Answer({ answer, at, editor }) {
  const { words, low, title } = sureness(answer, at);
  if (!answer.answered) return html`<div class="card verdict none"><h2>${words}</h2><p class="soft">${at ? "Nothing that was said until then answers this question." : "Nothing that was said answers this question."}</p>
    ${answer.nearest && html`<p class="soft" dir="auto">The nearest line: ${answer.nearest}</p>`}</div>`;
  const asSaid = answer.written_by === "quote";
  // A quoted answer may begin with a date or a verdict; one by an LLM is all its own words.
  const lead = asSaid ? answer.text.slice(0, Math.max(0, answer.text.indexOf("“"))).split("\n")[0].replace(/:\s*$/, "") : answer.text;
  return html`<div class="card verdict"><p><span class=${low ? "tag warn" : "tag on"} title=${title}>${words}</span></p>
    ${lead && html`<p class="lead" dir="auto">${lead}</p>`}
    ${answer.citations.map((one, place) => html`<${Quote} key=${one.mark} text=${answer.quotes[place]} event=${answer.events.get(one.event_id)} editor=${editor} big=${asSaid && !lead} />`)}
  </div>`;
}

function Quote({ text, event, editor, big }) {
  const who = event.record ? `edited by ${editor(event.speaker)}` : event.speaker;
  return html`<blockquote><p class=${big && text.length < BIG ? "said big" : "said"} dir="auto">“${text}”</p>
    <footer class="meta">${who && html`<b>${who}</b>`}<span class="tabular">${moment(event.at)}</span>
      <a href=${placeOf(event)}>${event.session || "show it"}</a></footer></blockquote>`;
}

/** Other quotes near the question; closed where the answer is unsure, since they hardly answer it, and where facts
 *  would be far below. */
function Others({ answer, found }) {
  const cited = new Set(answer.citations.map((one) => one.event_id));
  const others = found.hits.filter((hit) => !cited.has(hit.event.id)).slice(0, OTHERS);
  const open = answer.answered && !sureness(answer).low && !NARROW.matches;
  if (!others.length) return null;
  return html`<details class="others" key=${open} open=${open}><summary>${open ? "Other quotes near the question" : `${count(others.length, "quote")} near the question`}</summary>
    <ol class="list">${others.map((hit) => html`<li key=${hit.event.id}><article class="hit"><${Said} text=${hit.quote} />
      <div class="meta">${hit.event.speaker && html`<b>${hit.event.speaker}</b>`}<span class="tabular">${day(hit.event.at)}</span>
        <a href=${placeOf(hit.event)}>${hit.event.session || "show it"}</a>
        ${hit.replaced_at && html`<span class="tag warn">${hit.replaced_by || ms(hit.replaced_at) > ms(hit.event.at) ? `no longer so since ${day(hit.replaced_at)}` : "marked as never true"}</span>`}<span>${reasonsOf(hit)}</span></div></article></li>`)}</ol></details>`;
}

function Against({ against, span, shown, onChange }) {
  const dated = endOf(against) !== undefined;
  const session = shown?.session ? `the conversation before (${shown.words})` : "the conversation before";
  const options = [["", session], [NOTHING, NOTHING], ["date", "a date"]];
  const halfway = span ? (span.begin + span.now) / 2 : Date.now(); // a date to begin with
  const choose = (chosen) => onChange(chosen === "date" ? unitOf(halfway, true) : chosen);
  return html`<div class="against small soft"><span>Compared with</span>
    <${Choice} label="Compare with" value=${dated ? "date" : against === NOTHING ? NOTHING : ""} options=${options} onChange=${choose} />
    ${dated && html`<input type="date" aria-label="Date to compare with" value=${against.slice(0, 10)} onChange=${(event) => event.target.value && onChange(event.target.value)} />`}
    ${!against && shown && !shown.session && html`<span>(there is none)</span>`}</div>`;
}
