import { generateText, stepCountIs } from "ai";
import { Everyword } from "everyword";
import { memoryTools } from "everyword/ai";

const memory = new Everyword({ url: "http://127.0.0.1:7330", space: "acme/ana" });

const { text } = await generateText({
  model: "openai/gpt-5",
  tools: memoryTools(memory, { session: "chat-42", speaker: "Ana" }),
  stopWhen: stepCountIs(5),
  prompt: "What did I say about cilantro?",
});
console.log(text);
