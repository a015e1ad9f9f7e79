/** The client: sends each operation to the service, and reads its answer or its error. */

import { EverywordError, fromProblem } from "./errors.js";
import { Operations, type Event, type Imported, type Written } from "./operations.js";
import type { operations } from "./schema.js";
import { readChanges, type Change, type ChangeKind } from "./stream.js";
import type { Arguments, CallOptions, Item, ListName, OperationName, Result, Scope } from "./types.js";

export interface EverywordOptions {
  /** Where `everyword serve` listens, such as http://127.0.0.1:7330. */
  url: string;
  /** What `everyword keys create` showed; not needed if the service runs on this machine without keys. */
  key?: string | undefined;
  /** The tenant; default: the only space that the key opens, or "default". */
  space?: string | undefined;
  /** A person or project inside the space. */
  wing?: string | undefined;
  /** How long a call may take (default: 120,000). */
  timeoutMs?: number | undefined;
  /** How often a call is repeated that the service refused because it was busy (default: 2). */
  retries?: number | undefined;
  /** Sends the requests (default: the global fetch). */
  fetch?: typeof fetch | undefined;
}

/** Arguments of `add` for one event. */
export type NewEvent = Omit<Arguments<"add">, "messages" | "text"> & { text: string };

/** Arguments of `add` for chat messages; each message has its own role and may have a name and a time. */
export type NewMessages = Omit<Arguments<"add">, "messages" | "text" | "speaker" | "key" | "role"> & {
  messages: NonNullable<Arguments<"add">["messages"]>;
};

const TIMEOUT_MS = 120_000;
// After these errors nothing was changed, so that it is safe to send the request again.
const BUSY = new Set(["TooManyRequests", "Overloaded", "StoreBusy"]);
const LONGEST_WAIT_S = 30; // before a call is repeated

/** A memory behind `everyword serve`. */
export class Everyword extends Operations {
  readonly #options: EverywordOptions;
  readonly #base: URL;

  constructor(options: EverywordOptions) {
    super();
    this.#options = options;
    this.#base = new URL(options.url.endsWith("/") ? options.url : `${options.url}/`);
  }

  /** Give a client of another space: a hard wall between tenants. */
  space(name: string): Everyword {
    return new Everyword({ ...this.#options, space: name, wing: undefined });
  }

  /** Give a client of one wing: a person or project inside the space. */
  wing(name: string): Everyword {
    return new Everyword({ ...this.#options, wing: name });
  }

  /** Remember one event, or a list of chat messages. */
  add(event: NewEvent, options?: CallOptions): Promise<Written>;
  add(messages: NewMessages, options?: CallOptions): Promise<{ written: Written[] }>;
  add(args: NewEvent | NewMessages, options?: CallOptions): Promise<Result<"add">> {
    return this.call("add", "wing", args as Arguments<"add">, options);
  }

  /** Go through a list, page by page: `for await (const event of memory.each("events", { session: "s1" }))`. */
  async *each<N extends ListName>(
    name: N,
    args?: Arguments<N>,
    options?: CallOptions,
  ): AsyncGenerator<Item<N>, void, undefined> {
    let cursor: string | null | undefined;
    do {
      const body = (cursor ? { ...args, cursor } : { ...args }) as Arguments<N>;
      const page: Record<string, unknown> = await this.call(name, "wing", body, options);
      yield* Object.values(page).find(Array.isArray) as Item<N>[];
      cursor = page["next"] as string | null;
    } while (cursor);
  }

  /** Follow changes as they happen. Ends with an error when the service stops or the key is revoked. */
  async *stream(
    args: { after?: string; kinds?: ChangeKind[] } = {},
    options: Pick<CallOptions, "signal"> = {},
  ): AsyncGenerator<Change, void, undefined> {
    const query = this.#scope("wing");
    if (args.after !== undefined) query.set("after", args.after);
    for (const kind of args.kinds ?? []) query.append("kinds", kind);
    const answer = await this.#send("GET", "v1/stream", query, {}, { ...options, timeoutMs: 0 });
    yield* readChanges(bodyOf(answer));
  }

  /** Import a file, such as a chat export or a zip; `name` is its name, which helps to tell its format. */
  async import(
    file: Blob | Uint8Array | string,
    args: Omit<NonNullable<operations["import"]["parameters"]["query"]>, "space" | "wing">,
    options?: CallOptions,
  ): Promise<Imported> {
    const query = this.#scope("wing");
    for (const [name, value] of Object.entries(args)) query.set(name, String(value));
    const headers = { "content-type": "application/octet-stream" };
    const answer = await this.#send("POST", "v1/import", query, { body: file as BodyInit, headers }, options);
    return (await readJson(answer)) as Imported;
  }

  /** Export the events of the space as JSONL. */
  async *export(options?: CallOptions): AsyncGenerator<Event, void, undefined> {
    const answer = await this.#send("GET", "v1/export", this.#scope("wing"), {}, options);
    for await (const line of readLines(bodyOf(answer))) yield JSON.parse(line) as Event;
  }

  /** Fetch a consistent copy of the whole file. */
  async backup(options?: CallOptions): Promise<ReadableStream<Uint8Array>> {
    return bodyOf(await this.#send("GET", "v1/backup", this.#scope("file"), {}, options));
  }

  /** Show what the key may do. */
  me(options?: CallOptions): Promise<operations["me"]["responses"][200]["content"]["application/json"]> {
    return this.#get("v1/me", options);
  }

  /** List the spaces that the key opens. */
  spaces(options?: CallOptions): Promise<operations["spaces"]["responses"][200]["content"]["application/json"]> {
    return this.#get("v1/spaces", options);
  }

  /** Check that the memory can be read. */
  ready(options?: CallOptions): Promise<{ ok: boolean }> {
    return this.#get("readyz", options);
  }

  override async call<N extends OperationName>(
    name: N,
    scope: Scope,
    body: Arguments<N>,
    options?: CallOptions,
  ): Promise<Result<N>> {
    const request = { body: JSON.stringify(body), headers: { "content-type": "application/json" } };
    const answer = await this.#send("POST", `v1/${name}`, this.#scope(scope), request, options);
    return (await readJson(answer)) as Result<N>;
  }

  async #get<T>(path: string, options: CallOptions | undefined): Promise<T> {
    return (await readJson(await this.#send("GET", path, this.#scope("file"), {}, options))) as T;
  }

  #scope(scope: Scope): URLSearchParams {
    const query = new URLSearchParams();
    if (scope !== "file" && this.#options.space !== undefined) query.set("space", this.#options.space);
    if (scope === "wing" && this.#options.wing !== undefined) query.set("wing", this.#options.wing);
    return query;
  }

  /** Send a request, again if the service was busy; throw unless it was accepted. */
  async #send(
    method: string,
    path: string,
    query: URLSearchParams,
    request: { body?: BodyInit; headers?: Record<string, string> },
    options: CallOptions = {},
  ): Promise<Response> {
    const url = new URL(path, this.#base);
    url.search = query.toString();
    const timeoutMs = options.timeoutMs ?? this.#options.timeoutMs ?? TIMEOUT_MS;
    const signals = [options.signal, timeoutMs ? AbortSignal.timeout(timeoutMs) : undefined];
    const signal = AbortSignal.any(signals.filter((one) => one !== undefined));
    const headers: Record<string, string> = { ...request.headers };
    if (this.#options.key) headers["authorization"] = `Bearer ${this.#options.key}`;
    const init: RequestInit = { ...request, method, headers, signal, redirect: "error" };
    for (let left = this.#options.retries ?? 2; ; left -= 1) {
      const answer = await this.#fetched(url, init, options.signal);
      if (answer.ok) return answer;
      const error = await refusal(answer);
      if (left <= 0 || !BUSY.has(error.kind)) throw error;
      await pause(Math.min(error.retryAfterS ?? 1, LONGEST_WAIT_S) * 1_000, signal);
    }
  }

  async #fetched(url: URL, init: RequestInit, callers: AbortSignal | undefined): Promise<Response> {
    try {
      return await (this.#options.fetch ?? fetch)(url, init);
    } catch (cause) {
      if (callers?.aborted) throw cause;
      const timedOut = cause instanceof Error && cause.name === "TimeoutError";
      throw new EverywordError(
        {
          kind: timedOut ? "TimedOut" : "Unreachable",
          status: 0,
          detail: timedOut ? "The service did not answer in time." : `There is no answer from ${this.#base.href}.`,
          fix: timedOut ? "Try again, or raise timeoutMs." : "Check the URL, and that `everyword serve` runs there.",
        },
        { cause },
      );
    }
  }
}

async function refusal(answer: Response): Promise<EverywordError> {
  const text = await answer.text();
  const seconds = Number(answer.headers.get("retry-after") ?? Number.NaN);
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch {
    document = undefined;
  }
  return fromProblem(document, answer.status, Number.isFinite(seconds) ? seconds : undefined);
}

async function readJson(answer: Response): Promise<unknown> {
  const type = answer.headers.get("content-type") ?? "";
  if (!type.startsWith("application/json")) throw fromProblem(undefined, answer.status);
  return answer.json();
}

function bodyOf(answer: Response): ReadableStream<Uint8Array> {
  if (!answer.body) throw fromProblem(undefined, answer.status);
  return answer.body;
}

async function* readLines(body: ReadableStream<Uint8Array>): AsyncGenerator<string, void, undefined> {
  const reader = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader();
  let pending = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      const lines = (pending + (value ?? "")).split("\n");
      pending = done ? "" : (lines.pop() ?? "");
      for (const line of lines) if (line) yield line;
      if (done) return;
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal.reason as Error);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", stop);
      resolve();
    }, ms);
    signal.addEventListener("abort", stop, { once: true });
    if (signal.aborted) stop();
  });
}
