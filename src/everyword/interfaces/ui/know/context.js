// The context an agent would get, as a difference from an earlier one, and why each line was chosen.

import { useEffect, useRef, useState } from "../vendor/preact-htm.js";
import { html, count, day } from "../parts.js";

const BEST = 3; // a line among so many of the best of a search was found by it
const NEAR = 0.05; // gain from the turns around a line that is worth telling
const MOST_REASONS = 3;
const LEFT_OUT = 30; // lines listed

// Stages of `recall` in plain words, the most telling first. `by`: what makes a stage a reason.
const ranked = (score) => score.rank !== null && score.rank <= BEST;
const gained = (score) => score.score > 0;
const REASONS = [
  { stage: "holds now", by: gained, words: "says what holds now" },
  { stage: "newest", by: gained, words: "the newest about this" },
  { stage: "statements", by: ranked, words: "states what is asked" },
  { stage: "then", by: ranked, words: "from the time asked about" },
  { stage: "words", by: ranked, words: "shares words with the question" },
  { stage: "vectors", by: ranked, words: "among the closest in meaning" },
  { stage: "reread", by: ranked, words: "rated high by the reranker" },
  { stage: "nearby", by: (score) => score.score > NEAR, words: "next to a line that matches" },
  { stage: "chain", by: gained, words: "shares rare words with a better match" },
  { stage: "time", by: gained, words: "close to the time asked about" },
  { stage: "own words", by: gained, words: "in the user’s own words" },
  { stage: "assistant", by: gained, words: "said by the assistant" },
  { stage: "unread", by: gained, words: "matched by its words alone" },
  { stage: "about", by: gained, words: "about the person named" },
];

/** Say in words why a hit was chosen. */
export function reasonsOf(hit) {
  const found = REASONS.filter(({ stage, by }) => hit.scores.some((score) => score.stage === stage && by(score)));
  const strong = found.some(({ stage }) => stage !== "about");
  return strong ? found.slice(0, MOST_REASONS).map((one) => one.words).join(", ") : "a weak match; there was room for it";
}

/** Split a context into its lines. A cited line has an id; headings and the fence have none. */
export function linesOf(context) {
  const lines = [];
  let next = 0;
  for (const text of context.text.split("\n")) {
    const cited = context.citations[next];
    if (cited && text.startsWith(`${cited.mark} `)) {
      lines.push({ id: cited.event_id, mark: cited.mark, text: text.slice(cited.mark.length + 1) });
      next += 1;
    } else if (text.startsWith("    ") && lines.at(-1)?.id) lines.at(-1).text += `\n${text}`; // a further line of a quote
    else if (text) lines.push({ text });
  }
  return lines;
}

const OVER = /no longer so since [^;)]+/;

/** Compare two contexts: mark the lines that are new or no longer so, and list those that went. */
export function difference(now, before) {
  const [lines, earlier] = [linesOf(now), before ? linesOf(before) : []];
  const was = new Map(earlier.filter((line) => line.id).map((line) => [line.id, line]));
  const there = new Set(lines.map((line) => line.id));
  for (const line of lines) {
    if (!line.id) continue;
    line.entered = !was.has(line.id);
    line.over = OVER.exec(line.text)?.[0];
    line.ended = line.over && !line.entered && !OVER.test(was.get(line.id).text);
    line.changed = line.entered || line.ended;
  }
  return { lines, went: earlier.filter((line) => line.id && !there.has(line.id)) };
}

export function Context({ context, before, found, editor, onCopy }) {
  const { lines, went } = difference(context, before);
  const hits = new Map(found.hits.map((hit) => [hit.event.id, hit]));
  const cited = new Set(context.citations.map((one) => one.event_id));
  const cut = found.hits.filter((hit) => !cited.has(hit.event.id));
  const entered = lines.filter((line) => line.entered).length;
  const ended = lines.filter((line) => line.ended).length;
  const some = lines.some((line) => line.id && !line.changed) && entered + ended > 0; // not all of it changed
  const [brief, setBrief] = useState(false);
  const shown = brief && some ? lines.filter((line) => line.changed) : lines;
  const list = useRef();
  useEffect(() => { // the first change may be far down
    const first = list.current?.querySelector(some ? ".entered, .ended" : ".none");
    if (list.current) list.current.scrollTop = first ? first.offsetTop - list.current.offsetTop - list.current.clientHeight / 3 : 0;
  }, [context, before]);
  const told = [entered && `${count(entered, "line")} entered`, ended && `${ended} no longer so`, went.length && `${went.length} went`].filter(Boolean);
  return html`<div class="meter" title=${`Counted with ${context.tokenizer}`}><i style=${`--share: ${Math.min(100, (100 * context.tokens) / context.budget)}%`}></i>
      <span class="tabular" data-tokens=${context.tokens}>${context.tokens.toLocaleString()} of ${context.budget.toLocaleString()} tokens</span></div>
    <div class="row small"><p class="soft changes grow" role="status">${told.length ? `${told.join(", ")}.` : "No line changed."}</p>
      ${some && html`<label class="soft check"><input type="checkbox" checked=${brief} onChange=${() => setBrief(!brief)} />Only changes</label>`}</div>
    ${context.text ? html`<div class="packed" ref=${list} tabindex="0" role="region" aria-label="Lines of the context">${shown.map((line) => (line.id
      ? html`<${Line} key=${line.id} line=${line} hit=${hits.get(line.id)} editor=${editor} />` : html`<p class="heading" key=${line.text}>${line.text}</p>`))}</div>`
      : html`<p class="quiet">No line fits into this budget.</p>`}
    ${went.length > 0 && html`<div class="went"><h3 class="small">Went since then</h3>${went.map((line) => html`<p class="line" key=${line.id}><span class="sign" aria-label="went">−</span><span class="words">${line.text}</span></p>`)}</div>`}
    ${cut.length > 0 && html`<details class="cut small"><summary>${count(cut.length, "match", "matches")} left out</summary><p class="quiet">They did not fit into the budget, or repeat another line.</p>
      ${cut.slice(0, LEFT_OUT).map((hit) => html`<p class="line" key=${hit.event.id}><span class="words">${hit.event.speaker ? `${hit.event.speaker}: ` : ""}${hit.quote} <span class="quiet">${day(hit.event.at)}</span></span></p>`)}</details>`}
    ${context.text && html`<div><button class="plain small" onClick=${onCopy}>Copy the context</button></div>`}`;
}

function Line({ line, hit, editor }) {
  const edit = hit?.event.record ? `an edit by ${editor(hit.event.speaker)}` : "";
  const why = edit || (hit ? reasonsOf(hit) : "the turn before a line that needs it");
  return html`<div class=${`line${line.entered ? " entered" : ""}${line.over ? " over" : ""}${line.ended ? " ended" : ""}`}>
    <span class="sign" aria-label=${line.entered ? "entered" : undefined}>${line.entered ? "+" : ""}</span>
    <div><p class="words"><span class="mark">${line.mark}</span> ${line.text}</p>
      <p class="why">${line.ended && html`<b class="tag warn">superseded since then</b> `}${why}</p></div>
  </div>`;
}
