/** Tools for the Vercel AI SDK: an agent remembers and recalls by itself. */

import { jsonSchema, tool, type Tool } from "ai";
import type { Everyword } from "./client.js";

export interface MemoryToolsOptions {
  /** Most tokens that `recall` and `wake_up` return (default: 800). */
  budget?: number;
  /** The conversation that `remember` writes to. */
  session?: string;
  /** Who speaks if the model does not say so. */
  speaker?: string;
  /** Also offer `forget`, which removes events for good; the SDK asks for approval before it runs. */
  forget?: boolean;
}

interface Remember {
  text: string;
  speaker?: string;
}
interface Question {
  query: string;
}
interface AnswerFound {
  answered: boolean;
  text?: string;
  quotes?: string[];
  confidence?: number | null;
}
interface Forget {
  ids: string[];
}

const BUDGET = 800;
const NOTHING = "The memory holds nothing about this.";

/** Give the tools of an agent; `memory` decides which space and wing they reach. */
export function memoryTools(memory: Everyword, options: MemoryToolsOptions & { forget: true }): MemoryTools & ForgetTool;
export function memoryTools(memory: Everyword, options?: MemoryToolsOptions): MemoryTools;
export function memoryTools(memory: Everyword, options: MemoryToolsOptions = {}): MemoryTools & Partial<ForgetTool> {
  const budget = options.budget ?? BUDGET;
  const tools: MemoryTools = {
    remember: tool({
      description:
        "Store something for good. Use it when the user states a preference, decision, fact, plan or date worth " +
        "keeping, or asks to remember something. Give their own words, verbatim, and who said them.",
      inputSchema: schema<Remember>({ text: "the words, verbatim", speaker: "who said it" }, ["text"]),
      execute: async ({ text, speaker = options.speaker }, { abortSignal: signal }) => {
        const event = { text, speaker: speaker ?? null, session: options.session ?? null };
        const written = await memory.add(event, { signal });
        const kinds = Object.keys(written.redacted).sort().join(", ");
        const outcome = written.new ? `Remembered as ${written.id}.` : `Already known as ${written.id}.`;
        return kinds ? `${outcome} Redacted: ${kinds}.` : outcome;
      },
    }),
    recall: tool({
      description:
        "Find what was said earlier, as dated lines with their sources. Use it before answering anything that may " +
        "rest on earlier conversations.",
      inputSchema: schema<Question>({ query: "the question" }, ["query"]),
      // A context, not bare hits: its text is fenced, so that recorded text can't pose as instructions.
      execute: async ({ query }, { abortSignal: signal }) =>
        (await memory.context({ query, budget }, { signal })).text || NOTHING,
    }),
    ask: tool({
      description: "Answer a question from the memory with one quote, or say that it holds no answer.",
      inputSchema: schema<Question>({ query: "the question" }, ["query"]),
      execute: async ({ query }, { abortSignal: signal }): Promise<AnswerFound> => {
        const { answered, text, quotes, confidence } = await memory.ask({ query }, { signal });
        return answered ? { answered, text, quotes, confidence } : { answered };
      },
    }),
    wake_up: tool({
      description: "List who the agent is and what matters now. Use it once, at the start of a conversation.",
      inputSchema: schema<Record<string, never>>({}, []),
      execute: async (_, { abortSignal: signal }) => (await memory.wakeUp({ budget }, { signal })).text || NOTHING,
    }),
  };
  if (!options.forget) return tools;
  const forget = tool({
    description: "Remove events for good. Only when the user asks for it, and only the events that they mean.",
    inputSchema: schema<Forget>({ ids: "ids of events, as `remember` returned them" }, ["ids"]),
    needsApproval: true,
    execute: async ({ ids }, { abortSignal: signal }) =>
      `Removed ${(await memory.forget({ ids }, { signal })).events} events.`,
  });
  return { ...tools, forget };
}

/** The tools that an agent gets. */
export interface MemoryTools {
  remember: Tool<Remember, string>;
  recall: Tool<Question, string>;
  ask: Tool<Question, AnswerFound>;
  wake_up: Tool<Record<string, never>, string>;
  [name: string]: Tool;
}

/** What `forget: true` adds. */
export interface ForgetTool {
  forget: Tool<Forget, string>;
}

function schema<T>(descriptions: Record<string, string>, required: string[]): ReturnType<typeof jsonSchema<T>> {
  const text = { type: "string" as const };
  const properties = Object.fromEntries(
    Object.entries(descriptions).map(([name, description]) => [
      name,
      name === "ids" ? { type: "array" as const, items: text, description } : { ...text, description },
    ]),
  );
  return jsonSchema<T>({ type: "object", properties, required, additionalProperties: false });
}
