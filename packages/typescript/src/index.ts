export { Everyword, type EverywordOptions, type NewEvent, type NewMessages } from "./client.js";
export { EverywordError } from "./errors.js";
export type * from "./operations.js";
export type { Change, ChangeKind } from "./stream.js";
export type { Arguments, CallOptions, Item, ListName, OperationName, Result } from "./types.js";
