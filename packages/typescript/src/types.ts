/** Types of arguments and results, derived from the generated schema. */

import type { operations } from "./schema.js";

/** Names of the operations: the last part of `/v1/NAME`. */
export type OperationName = keyof operations extends infer K ? (K extends `${infer N}_post` ? N : never) : never;

/** What an operation takes, as the service's reference describes it; wherever it takes a time, a Date will do. */
export type Arguments<N extends OperationName> = WithDates<Body<`${N}_post`>>;

/** What an operation returns. */
export type Result<N extends OperationName> = Answer<`${N}_post`>;

/** Operations that return a list in pages. */
export type ListName = {
  [N in OperationName]: Result<N> extends { next: string | null } ? N : never;
}[OperationName];

/** One entry of a list. */
export type Item<N extends ListName> = Exclude<Result<N>[keyof Result<N>], string | null> extends (infer E)[] ? E : never;

/** Which of space and wing an operation takes: both, the space, or neither since it concerns the whole file. */
export type Scope = "wing" | "space" | "file";

/** Options of a single call. */
export interface CallOptions {
  /** Aborts the call. */
  signal?: AbortSignal | undefined;
  /** Instead of the client's own. */
  timeoutMs?: number | undefined;
}

type Body<K> = K extends keyof operations
  ? operations[K] extends { requestBody?: { content: { "application/json": infer B } } }
    ? B
    : never
  : never;

type Answer<K> = K extends keyof operations
  ? operations[K] extends { responses: { 200: { content: { "application/json": infer R } } } }
    ? R
    : never
  : never;

// A time is a string (ISO 8601) or a number of seconds; JSON writes a Date as such a string.
type WithDates<T> = string | number extends T
  ? T | Date
  : T extends readonly (infer E)[]
    ? WithDates<E>[]
    : T extends object
      ? { [K in keyof T]: WithDates<T[K]> }
      : T;
