import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, test } from "node:test";

import { Everyword, EverywordError, type Change, type Event, type Hit } from "../src/index.js";
import { startService, type Service } from "./service.js";

let service: Service;
let memory: Everyword;

before(async () => {
  service = await startService();
  memory = new Everyword({ url: service.url });
});
after(() => service.stop());

test("what is added is recalled, with its types", async () => {
  const at = new Date("2026-04-02T10:00:00Z");
  const written = await memory.add({ text: "I moved to Lisbon in March.", speaker: "Ana", session: "s1", at });
  assert.equal(written.new, true);
  assert.equal(new Date(written.event.at).getTime(), at.getTime());
  assert.equal((await memory.add({ text: "I moved to Lisbon in March.", speaker: "Ana", session: "s1", at })).new, false);

  const { hits } = await memory.recall({ query: "Who moved to Lisbon?", k: 3 });
  const first: Hit | undefined = hits[0];
  assert.equal(first?.event.speaker, "Ana");
  assert.equal(first?.quote, "I moved to Lisbon in March.");
  const [start, end] = first.span;
  assert.equal(first.event.text.slice(start, end), first.quote);

  const context = await memory.context({ query: "Who moved to Lisbon?", budget: 300 });
  assert.match(context.text, /Lisbon/);
  assert.ok(context.tokens <= 300);
  assert.equal((await memory.show({ id: written.id })).text, "I moved to Lisbon in March.");
});

test("chat messages become one event each", async () => {
  const messages = [
    { role: "user", content: "No cilantro, ever." },
    { role: "assistant", content: [{ type: "text", text: "Noted." }] },
  ];
  const { written } = await memory.add({ messages, session: "chat" });
  assert.deepEqual(written.map((one) => one.event.role), ["user", "assistant"]);
});

test("each goes through all pages", async () => {
  const pages = memory.space("pages");
  const events = Array.from({ length: 25 }, (_, number) => ({ text: `Line ${number}.`, session: "long" }));
  await pages.addMany({ events });
  const read: Event[] = [];
  for await (const event of pages.each("events", { session: "long", limit: 10 })) read.push(event);
  assert.equal(read.length, 25);
  assert.equal((await pages.events({ limit: 10 })).events.length, 10);
});

test("a space is a wall, and a wing limits what is read and forgotten", async () => {
  const acme = memory.space("acme/ana");
  await acme.wing("home").add({ text: "The boiler was repaired." });
  await acme.wing("work").add({ text: "The boiler report is due." });
  assert.equal((await memory.recall({ query: "boiler" })).hits.some((hit) => hit.event.text.includes("boiler")), false);
  assert.equal((await acme.wing("home").recall({ query: "boiler" })).hits.length, 1);
  const receipt = await acme.wing("home").forget({ before: new Date(Date.now() + 60_000) });
  assert.equal(receipt.events, 1);
  assert.equal((await acme.events()).events.length, 1);
  assert.equal((await acme.wing("work").stats()).events, 1); // counts the space, whatever the wing
  assert.ok((await memory.spaces()).spaces.includes("acme/ana"));
});

test("every operation that needs no argument answers in the described shape", async () => {
  const wing = memory.wing("w");
  assert.deepEqual((await wing.statements()).next, null);
  assert.ok(Array.isArray((await wing.facts()).facts));
  assert.ok(Array.isArray((await wing.entities()).entities));
  assert.ok(Array.isArray((await wing.concepts()).concepts));
  assert.ok(Array.isArray((await wing.intents()).intents));
  assert.ok(Array.isArray((await wing.sessions()).sessions));
  assert.equal(typeof (await wing.wakeUp()).text, "string");
  assert.equal((await wing.verify()).ok, true);
  assert.equal(typeof (await wing.changes()).position, "string");
  assert.equal((await memory.ready()).ok, true);
  assert.ok((await memory.me()).operations.includes("recall"));
});

test("files are imported and events exported", async () => {
  const notes = memory.space("notes");
  const imported = await notes.import(new Blob(["# Trip\n\nThe train leaves at nine.\n"]), { name: "trip.md" });
  assert.equal(imported.added, 1);
  const exported: Event[] = [];
  for await (const event of notes.export()) exported.push(event);
  assert.match(exported[0]?.text ?? "", /leaves at nine/);
  const reader = (await memory.backup()).getReader();
  const start = new TextDecoder().decode((await reader.read()).value?.slice(0, 15));
  await reader.cancel();
  assert.equal(start, "SQLite format 3");
});

test("the stream tells what is written", async () => {
  const live = memory.space("live");
  await live.add({ text: "Before." });
  const stop = new AbortController();
  const changes = live.stream({ kinds: ["event"], after: (await live.changes({ after: "now" })).position }, stop);
  const next = changes.next();
  await live.add({ text: "A word, as it is said." });
  const change = (await next).value as Change;
  assert.equal(change.kind, "event");
  assert.equal((change.item as Event).text, "A word, as it is said.");
  assert.equal(typeof change.position, "string");
  await changes.return();
});

test("errors say what is wrong and how to fix it", async () => {
  await assert.rejects(memory.recall({ query: "Where?", since: "soon" }), (error) => {
    assert.ok(error instanceof EverywordError);
    assert.equal(error.kind, "InvalidTime");
    assert.equal(error.status, 400);
    assert.ok(error.fix && error.message.includes(error.fix));
    return true;
  });
  const nobody = new Everyword({ url: "http://127.0.0.1:9" });
  await assert.rejects(nobody.stats(), { kind: "Unreachable", status: 0 });
  await assert.rejects(memory.stats({}, { signal: AbortSignal.abort() }), { name: "AbortError" });
});

test("a busy service is asked again, a slow one is given up", async () => {
  let asked = 0;
  const stub = createServer((request, answer) => {
    asked += 1;
    if (request.url?.startsWith("/v1/window")) return; // never answers
    answer.writeHead(503, { "content-type": "application/problem+json", "retry-after": "0" });
    answer.end(JSON.stringify({ type: "urn:everyword:error:Overloaded", status: 503, detail: "Busy.", fix: "Wait." }));
  });
  await new Promise<void>((resolve) => stub.listen(0, "127.0.0.1", resolve));
  const busy = new Everyword({ url: `http://127.0.0.1:${(stub.address() as AddressInfo).port}`, retries: 2 });
  try {
    await assert.rejects(busy.stats(), { kind: "Overloaded", retryAfterS: 0 });
    assert.equal(asked, 3);
    await assert.rejects(busy.window({}, { timeoutMs: 50 }), { kind: "TimedOut" });
  } finally {
    stub.closeAllConnections();
    stub.close();
  }
});

// The last test: from the first key on, every request needs one.
test("a key opens its space alone", async () => {
  const secret = /ew_[\w-]+/.exec(await service.run("keys", "create", "app", "--may", "write", "--space", "walled"))?.[0];
  assert.ok(secret);
  await assert.rejects(memory.stats(), { status: 401 });
  const app = new Everyword({ url: service.url, key: secret });
  await app.add({ text: "Only here." });
  assert.deepEqual((await app.spaces()).spaces, ["walled"]);
  await assert.rejects(app.space("acme/ana").events(), { status: 403 });
  await assert.rejects(app.forget({ session: "s1" }), { status: 403 });
});
