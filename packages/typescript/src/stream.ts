/** Changes of a space as they happen: the server-sent events of /v1/stream. */

import { fromProblem } from "./errors.js";
import type { components } from "./schema.js";

type Schemas = components["schemas"];

interface Items {
  event: Schemas["Event"];
  statement: Schemas["Statement"];
  concept: Schemas["Concept"];
  intent: Schemas["Intent"];
  job: Schemas["Waiting"];
  forgotten: Schemas["Receipt"];
}

/** Kinds of changes. */
export type ChangeKind = keyof Items | "jobs";

/** One change. `position` is set on the last change of a batch; `stream({ after })` continues after it. */
export type Change =
  | { [K in keyof Items]: { kind: K; at: string; item: Items[K]; position?: string } }[keyof Items]
  | { kind: "jobs"; item: Record<string, { waiting: number; failed: number }>; position?: string };

/** Read the changes from the body of a response; throw the reason when the service ends the stream. */
export async function* readChanges(body: ReadableStream<Uint8Array>): AsyncGenerator<Change, void, undefined> {
  for await (const message of readMessages(body)) {
    if (message.event === "position") continue;
    const document: unknown = JSON.parse(message.data);
    if (message.event === "end") throw fromProblem(document, 503);
    const position = message.id === undefined ? {} : { position: message.id };
    if (message.event === "jobs") {
      yield { kind: "jobs", item: document, ...position } as Change;
    } else {
      yield { ...(document as object), ...position } as Change;
    }
  }
}

interface Message {
  event: string;
  data: string;
  id?: string;
}

async function* readMessages(body: ReadableStream<Uint8Array>): AsyncGenerator<Message, void, undefined> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let pending = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const blocks = (pending + decoder.decode(value, { stream: true })).split("\n\n");
      pending = blocks.pop() ?? "";
      for (const block of blocks) {
        const message = parseMessage(block);
        if (message) yield message;
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined); // closes the connection if the reader stops early
  }
}

function parseMessage(block: string): Message | undefined {
  const fields = new Map<string, string>();
  for (const line of block.split("\n")) {
    const colon = line.indexOf(":");
    if (colon > 0) fields.set(line.slice(0, colon), line.slice(colon + 1).replace(/^ /, ""));
  }
  const event = fields.get("event");
  const data = fields.get("data");
  const id = fields.get("id");
  if (event === undefined || data === undefined) return undefined; // a comment that keeps the connection open
  return id === undefined ? { event, data } : { event, data, id };
}
