import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { generateText, stepCountIs, type LanguageModel } from "ai";
import { MockLanguageModelV3 } from "ai/test";

import { memoryTools } from "../src/ai.js";
import { Everyword } from "../src/index.js";
import { startService, type Service } from "./service.js";

let service: Service;
let memory: Everyword;

before(async () => {
  service = await startService();
  memory = new Everyword({ url: service.url });
});
after(() => service.stop());

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 1, text: 1, reasoning: undefined },
};

/** A model that calls one tool and then says that it is done. */
function calling(toolName: string, input: object): LanguageModel {
  let step = 0;
  return new MockLanguageModelV3({
    doGenerate: async () => {
      step += 1;
      const call = { type: "tool-call" as const, toolCallId: "1", toolName, input: JSON.stringify(input) };
      return step === 1
        ? { content: [call], finishReason: { unified: "tool-calls", raw: undefined }, usage, warnings: [] }
        : {
            content: [{ type: "text", text: "Done." }],
            finishReason: { unified: "stop", raw: undefined },
            usage,
            warnings: [],
          };
    },
  });
}

async function outputOf(toolName: string, input: object): Promise<unknown> {
  const tools = memoryTools(memory, { session: "chat", speaker: "Ana" });
  const result = await generateText({ model: calling(toolName, input), tools, prompt: "Go.", stopWhen: stepCountIs(2) });
  assert.equal(result.text, "Done.");
  return result.steps[0]?.toolResults[0]?.output;
}

test("a model remembers and recalls", async () => {
  const said = "My daughter Mia starts school in September.";
  assert.match(String(await outputOf("remember", { text: said })), /^Remembered as ev_[0-9a-f]{32}\.$/);
  const { events } = await memory.events();
  assert.deepEqual(events.map((one) => [one.text, one.speaker, one.session]), [[said, "Ana", "chat"]]);
  assert.match(String(await outputOf("recall", { query: "When does Mia start school?" })), /September/);
  assert.equal(typeof (await outputOf("ask", { query: "When does Mia start school?" })), "object");
  assert.equal(typeof (await outputOf("wake_up", {})), "string");
});

test("a model reaches no other space, whatever it sends", async () => {
  await memory.space("other").add({ text: "A secret garden." });
  const found = String(await outputOf("recall", { query: "secret garden", space: "other" }));
  assert.doesNotMatch(found, /garden/);
});

test("forget is offered on request and waits for approval", async () => {
  assert.ok(!("forget" in memoryTools(memory)));
  const tools = memoryTools(memory, { forget: true });
  const { id } = await memory.add({ text: "Forget me." });
  const model = calling("forget", { ids: [id] });
  const result = await generateText({ model, tools, prompt: "Go.", stopWhen: stepCountIs(2) });
  assert.ok(result.content.some((part) => part.type === "tool-approval-request"));
  assert.equal((await memory.show({ id })).text, "Forget me.");
});
