import { Everyword } from "everyword";

const memory = new Everyword({
  url: process.env["EVERYWORD_URL"] ?? "http://127.0.0.1:7330",
  key: process.env["EVERYWORD_KEY"], // what `everyword keys create` showed; none is needed on this machine
  space: "acme/ana", // the tenant
});

await memory.add({ text: "I moved to Lisbon in March.", speaker: "Ana", session: "s1", at: "2026-04-02T10:00Z" });
await memory.add({ messages: [{ role: "user", content: "No cilantro, ever." }], session: "s2" });

const { hits, confidence } = await memory.recall({ query: "Where does Ana live?", k: 3 });
console.log(confidence, hits.map((hit) => [hit.score, hit.event.speaker, hit.quote]));

const context = await memory.context({ query: "What should I cook?", budget: 300 });
console.log(context.text, context.tokens); // ready for a prompt, within the budget, every line cited

for await (const event of memory.each("events", { session: "s1" })) console.log(event.at, event.text);
await memory.forget({ session: "s2" }); // removes every byte of it
