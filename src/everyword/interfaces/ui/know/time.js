// Moments in the address, the time scrubber, and playback.

import { useEffect, useLayoutEffect, useState } from "../vendor/preact-htm.js";
import { read } from "../api.js";
import { day, html, moment, ms } from "../parts.js";

const MINUTE_MS = 60_000;
const DAY_MS = 1440 * MINUTE_MS;
const EARLY = ms("1900-01-01T00:00:00Z"); // and ten years from now: hardly anything was said outside of these
const SOON_MS = 3653 * DAY_MS;
const FAR_SHARE = 0.05; // of all events, that may be left out of the axes if some lie outside of these
const STRAY_SHARE = 0.01; // and otherwise
const STRAY_SPAN = 0.1; // of the time, into which all others must fit for that
const ROUNDS = 8; // of looking closer
const SHORT_MS = 3 * DAY_MS; // a memory younger than this is scrubbed by the minute, an older one by the day
const PLAY_MS = 20_000;
const FRAME_MS = 200;
const CALM_FRAME_MS = 2000; // for those who asked their system for less motion
const REST_MS = 400;
const CALM = matchMedia("(prefers-reduced-motion: reduce)");

/** Return the end of a day or minute written as in the address: what was said on that day is known. */
export function endOf(text) {
  const found = /^(\d{4})-(\d\d)-(\d\d)(?:T(\d\d):(\d\d))?$/.exec(text || "");
  if (!found) return undefined;
  const [year, month, date, hour, minute] = found.slice(1).map((part) => part && Number(part));
  const at = new Date(2000, 0, 1);
  at.setFullYear(year, month - 1, hour === undefined ? date + 1 : date); // the constructor reads the year 26 as 1926
  at.setHours(hour ?? 0, hour === undefined ? 0 : minute + 1);
  return Number.isNaN(at.getTime()) ? undefined : at.getTime();
}

/** Write the day or minute that contains a time, as the address and the date field have it. */
export function unitOf(at, daily) {
  const date = new Date(at);
  const two = (number) => String(number).padStart(2, "0");
  const text = `${String(date.getFullYear()).padStart(4, "0")}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return daily ? text : `${text}T${two(date.getHours())}:${two(date.getMinutes())}`;
}

/** Name a day or minute of the address. */
export function named(text) {
  const end = endOf(text);
  if (end === undefined) return text;
  return (text.includes("T") ? moment : day)(new Date(end - MINUTE_MS).toISOString());
}

/** Read when events were said. A few whose date is far from all others, such as a typing error, would press the rest
 *  into a few pixels: they are left out of `begin`, `end` and `counts`. `all` counts them, too. */
export async function activityOf(parameters, signal) {
  const all = await read("activity", parameters, signal);
  const far = ms(all.begin) < EARLY || ms(all.end) > Date.now() + SOON_MS;
  const most = far ? Math.ceil(all.events * FAR_SHARE) : Math.floor(all.events * STRAY_SHARE);
  let shown = all;
  for (let round = 0; round < ROUNDS && all.events > 1; round += 1) {
    const narrow = narrowest(shown, all.events - most, STRAY_SPAN) || (shown !== all && narrowest(shown, shown.events, 0.9));
    if (!narrow) break;
    shown = await read("activity", { ...parameters, since: new Date(narrow[0]).toISOString(), until: new Date(narrow[1] + 1).toISOString() }, signal); // an address has milliseconds
  }
  return { ...shown, all: all.events, from: all.begin };
}

/** Return the shortest period with so many events, if it is shorter than a share of the whole. */
function narrowest({ begin, end, counts }, wanted, share) {
  let [best, first, held] = [Math.floor(counts.length * share), 0, 0];
  let found;
  for (let last = 0; last < counts.length; last += 1) {
    held += counts[last];
    for (; held - counts[first] >= wanted && first < last; first += 1) held -= counts[first];
    if (held < wanted || last - first >= best) continue;
    best = last - first;
    found = [first, last + 1];
  }
  return found?.map((part) => ms(begin) + ((ms(end) - ms(begin)) * part) / counts.length);
}

/** Describe the time that a memory spans, from its first event until now. */
export function spanOf(activity) {
  const [now, begin] = [Date.now(), ms(activity.begin)];
  const daily = now - begin > SHORT_MS;
  const first = endOf(unitOf(begin, daily));
  const steps = Math.max(0, Math.ceil((now - first) / (daily ? DAY_MS : MINUTE_MS)));
  return { begin, now, last: Math.min(now, ms(activity.end)), daily, steps, activity };
}

/** Return the unit at a step of the scrubber; "" for its end, which is now. */
function unitAt(span, step) {
  if (step >= span.steps) return "";
  const at = new Date(span.begin);
  if (span.daily) at.setDate(at.getDate() + step);
  else at.setMinutes(at.getMinutes() + step);
  return unitOf(at, span.daily);
}

function stepOf(span, text) {
  const end = endOf(text);
  if (end === undefined) return span.steps;
  const passed = (end - endOf(unitOf(span.begin, span.daily))) / (span.daily ? DAY_MS : MINUTE_MS);
  return Math.min(span.steps, Math.max(0, Math.round(passed)));
}

/** Choose a time: a slider over the memory's life, a date field, "Now", and Play. */
export function Scrubber({ span, at, onChange, playing, onPlay }) {
  const [low, high] = [unitOf(span.begin, span.daily), unitOf(span.now, span.daily)];
  const field = (event) => {
    const text = event.target.value;
    if (endOf(text) === undefined) return;
    onChange(endOf(text) > span.now ? "" : text.slice(0, span.daily ? 10 : 16));
  };
  return html`<div class="scrub" role="group" aria-label="Time">
    <button class="play" onClick=${onPlay} aria-label=${playing ? "Pause" : "Play the memory's growth"} title=${playing ? "Pause" : "Watch the memory grow, in 20 seconds"}>
      <svg viewBox="0 0 16 16" aria-hidden="true"><path d=${playing ? "M4 3h3v10H4zM9 3h3v10H9z" : "M4.5 2.5v11l9-5.5z"} /></svg></button>
    <div class="track">
      <${Counts} span=${span} />
      <input type="range" aria-label="Point in time" min="0" max=${span.steps} value=${stepOf(span, at)} aria-valuetext=${at ? named(at) : "now"} onInput=${(event) => onChange(unitAt(span, Number(event.target.value)))} />
      <div class="ends small"><span>${day(new Date(span.begin).toISOString())}</span><output>${at ? html`until <b>${named(at)}</b>` : html`all that is known <b>now</b>`}</output><span>now</span></div>
    </div>
    <input type=${span.daily ? "date" : "datetime-local"} aria-label="Date" min=${low} max=${high} value=${at || high} onChange=${field} />
    <button aria-pressed=${!at} onClick=${() => onChange("")}>Now</button>
  </div>`;
}

/** The number of events over time, as a faint silhouette above the slider. */
function Counts({ span }) {
  const { counts, begin, end } = span.activity;
  const [from, to, whole] = [ms(begin), ms(end), Math.max(1, span.now - span.begin)];
  const width = (to - from) / counts.length;
  const most = Math.max(...counts, 1);
  const x = (at) => (1000 * (at - span.begin)) / whole;
  return html`<svg class="counts" viewBox="0 0 1000 20" preserveAspectRatio="none" aria-hidden="true">${counts.map((number, part) => {
    if (!number) return null;
    const tall = 4 + 16 * Math.sqrt(number / most);
    return html`<rect x=${Math.min(995, x(from + part * width))} y=${20 - tall} width=${Math.max(4, x(from + width) - x(from))} height=${tall} />`;
  })}</svg>`;
}

/** Play from the first event to the last in 20 seconds. */
export function usePlayback(span, onEnd) {
  const [shown, setShown] = useState(); // the unit on screen while it plays
  const playing = shown !== undefined;
  useLayoutEffect(() => { // one that runs later may let a frame come after the pause, which would play on
    if (!playing) return undefined;
    const began = Date.now();
    const timer = setInterval(() => {
      const share = (Date.now() - began) / PLAY_MS;
      if (share >= 1) {
        setShown(undefined);
        onEnd("");
      } else setShown(unitOf(span.begin + share * (span.last - span.begin), span.daily));
    }, CALM.matches ? CALM_FRAME_MS : FRAME_MS);
    return () => clearInterval(timer);
  }, [playing]);
  const leave = () => setShown(undefined);
  const pause = () => {
    leave();
    onEnd(shown);
  };
  return { playing, shown, start: () => setShown(unitOf(span.begin, span.daily)), pause, leave };
}

/** Follow a time that moves fast: the next one is taken when what belongs to the last is there, or at rest. */
export function useFollowed(at, busy) {
  const [followed, setFollowed] = useState(at);
  useEffect(() => {
    if (followed === at) return undefined;
    const timer = setTimeout(() => setFollowed(at), busy ? REST_MS : 0);
    return () => clearTimeout(timer);
  }, [at, busy]);
  return followed;
}
