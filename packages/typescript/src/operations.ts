// Generated from the service's OpenAPI document by tools/make_typescript.py. Do not edit.

import type { Arguments, CallOptions, OperationName, Result, Scope } from "./types.js";
import type { components } from "./schema.js";

/** One method for each operation of the service. */
export abstract class Operations {
  /** Run an operation; `scope` says which of space and wing it takes. */
  abstract call<N extends OperationName>(
    name: N, scope: Scope, body: Arguments<N>, options?: CallOptions,
  ): Promise<Result<N>>;

  /** Find the events that answer a question, best first. */
  recall(args: Arguments<"recall">, options?: CallOptions): Promise<Result<"recall">> {
    return this.call("recall", "wing", args, options);
  }

  /** Write a prompt-ready, cited context for a question. */
  context(args: Arguments<"context">, options?: CallOptions): Promise<Result<"context">> {
    return this.call("context", "wing", args, options);
  }

  /** Answer a question with a citation, or say that the memory holds no answer. */
  ask(args: Arguments<"ask">, options?: CallOptions): Promise<Result<"ask">> {
    return this.call("ask", "wing", args, options);
  }

  /** List what an agent should know before a conversation: who it is, and what matters now. */
  wakeUp(args: Arguments<"wake_up"> = {}, options?: CallOptions): Promise<Result<"wake_up">> {
    return this.call("wake_up", "wing", args, options);
  }

  /** Show or set who the agent is; every wake_up starts with it. */
  identity(args: Arguments<"identity"> = {}, options?: CallOptions): Promise<Result<"identity">> {
    return this.call("identity", "wing", args, options);
  }

  /** List attributes, preferences, plans, tasks, decisions and other statements, each with its quote. */
  statements(args: Arguments<"statements"> = {}, options?: CallOptions): Promise<Result<"statements">> {
    return this.call("statements", "wing", args, options);
  }

  /** Show how a statement changed, with quotes and reasons. */
  history(args: Arguments<"history"> = {}, options?: CallOptions): Promise<Result<"history">> {
    return this.call("history", "wing", args, options);
  }

  /** Correct a statement, and its facts, in your own words; its history keeps the old version. */
  correct(args: Arguments<"correct">, options?: CallOptions): Promise<Result<"correct">> {
    return this.call("correct", "wing", args, options);
  }

  /** Retract a statement and end its facts; it stays in its history. */
  retract(args: Arguments<"retract">, options?: CallOptions): Promise<Result<"retract">> {
    return this.call("retract", "wing", args, options);
  }

  /** List edits: identities, corrections, retractions, answers to intents, undone changes. */
  records(args: Arguments<"records"> = {}, options?: CallOptions): Promise<Result<"records">> {
    return this.call("records", "wing", args, options);
  }

  /** List people, organisations, projects, places and things, the most mentioned first. */
  entities(args: Arguments<"entities"> = {}, options?: CallOptions): Promise<Result<"entities">> {
    return this.call("entities", "wing", args, options);
  }

  /** Show who or what a name refers to: its names, its type, and when it was mentioned. */
  entity(args: Arguments<"entity">, options?: CallOptions): Promise<Result<"entity">> {
    return this.call("entity", "wing", args, options);
  }

  /** List what is true of a person or thing, with its time and its quotes. */
  facts(args: Arguments<"facts"> = {}, options?: CallOptions): Promise<Result<"facts">> {
    return this.call("facts", "wing", args, options);
  }

  /** List what was true of a person or thing and what happened to it, in order of time. */
  timeline(args: Arguments<"timeline">, options?: CallOptions): Promise<Result<"timeline">> {
    return this.call("timeline", "wing", args, options);
  }

  /** List facts that contradict each other where no later statement decides. */
  conflicts(args: Arguments<"conflicts"> = {}, options?: CallOptions): Promise<Result<"conflicts">> {
    return this.call("conflicts", "wing", args, options);
  }

  /** Merge two names that mean one person or thing. */
  merge(args: Arguments<"merge">, options?: CallOptions): Promise<Result<"merge">> {
    return this.call("merge", "wing", args, options);
  }

  /** Split names off a person or thing that is really two. */
  split(args: Arguments<"split">, options?: CallOptions): Promise<Result<"split">> {
    return this.call("split", "wing", args, options);
  }

  /** List merges and splits, with the numbers that `undo` takes. */
  edits(args: Arguments<"edits"> = {}, options?: CallOptions): Promise<Result<"edits">> {
    return this.call("edits", "wing", args, options);
  }

  /** Revert a merge or split. */
  undo(args: Arguments<"undo">, options?: CallOptions): Promise<Result<"undo">> {
    return this.call("undo", "wing", args, options);
  }

  /** List open goals, each with its quotes. */
  intents(args: Arguments<"intents"> = {}, options?: CallOptions): Promise<Result<"intents">> {
    return this.call("intents", "wing", args, options);
  }

  /** Answer an intent: accept, modify, defer, reject, done or undo. */
  answerIntent(args: Arguments<"answer_intent">, options?: CallOptions): Promise<Result<"answer_intent">> {
    return this.call("answer_intent", "wing", args, options);
  }

  /** Show what matters now, without a question: events, concepts and intents in three tiers. */
  window(args: Arguments<"window"> = {}, options?: CallOptions): Promise<Result<"window">> {
    return this.call("window", "wing", args, options);
  }

  /** Show the memory as a place: wing, room (concept), hall (kind), closet (summary), drawer (event). */
  palace(args: Arguments<"palace"> = {}, options?: CallOptions): Promise<Result<"palace">> {
    return this.call("palace", "wing", args, options);
  }

  /** List concepts: themes that three or more events share. */
  concepts(args: Arguments<"concepts"> = {}, options?: CallOptions): Promise<Result<"concepts">> {
    return this.call("concepts", "wing", args, options);
  }

  /** Show one concept with its events, its edges and its journal. */
  concept(args: Arguments<"concept">, options?: CallOptions): Promise<Result<"concept">> {
    return this.call("concept", "wing", args, options);
  }

  /** Fold queued events into concepts, or show what that would change. */
  fold(args: Arguments<"fold"> = {}, options?: CallOptions): Promise<Result<"fold">> {
    return this.call("fold", "space", args, options);
  }

  /** List changes of the concept graph, with reasons and events. */
  journal(args: Arguments<"journal"> = {}, options?: CallOptions): Promise<Result<"journal">> {
    return this.call("journal", "wing", args, options);
  }

  /** Revert a change of the concept graph, for good. */
  undoChange(args: Arguments<"undo_change">, options?: CallOptions): Promise<Result<"undo_change">> {
    return this.call("undo_change", "wing", args, options);
  }

  /** Show one event in full. */
  show(args: Arguments<"show">, options?: CallOptions): Promise<Result<"show">> {
    return this.call("show", "wing", args, options);
  }

  /** List sessions, latest first. */
  sessions(args: Arguments<"sessions"> = {}, options?: CallOptions): Promise<Result<"sessions">> {
    return this.call("sessions", "wing", args, options);
  }

  /** List events in the order in which they happened. */
  events(args: Arguments<"events"> = {}, options?: CallOptions): Promise<Result<"events">> {
    return this.call("events", "wing", args, options);
  }

  /** Remove events and everything derived from them, for good. */
  forget(args: Arguments<"forget">, options?: CallOptions): Promise<Result<"forget">> {
    return this.call("forget", "wing", args, options);
  }

  /** Count what a space holds, and show the size of the file. */
  stats(args: Arguments<"stats"> = {}, options?: CallOptions): Promise<Result<"stats">> {
    return this.call("stats", "space", args, options);
  }

  /** Check the file, and compare every index with the log. */
  verify(args: Arguments<"verify"> = {}, options?: CallOptions): Promise<Result<"verify">> {
    return this.call("verify", "file", args, options);
  }

  /** Rebuild every index from the log. */
  rebuild(args: Arguments<"rebuild"> = {}, options?: CallOptions): Promise<Result<"rebuild">> {
    return this.call("rebuild", "file", args, options);
  }

  /** Do all queued work, such as vectors that a model failed to compute. */
  settle(args: Arguments<"settle"> = {}, options?: CallOptions): Promise<Result<"settle">> {
    return this.call("settle", "file", args, options);
  }

  /** Count events in equal parts of time, and list speakers and wings. */
  activity(args: Arguments<"activity"> = {}, options?: CallOptions): Promise<Result<"activity">> {
    return this.call("activity", "wing", args, options);
  }

  /** Remember a batch of events in one transaction: all or none. */
  addMany(args: Arguments<"add_many">, options?: CallOptions): Promise<Result<"add_many">> {
    return this.call("add_many", "wing", args, options);
  }

  /** Read one statement by its id. */
  statement(args: Arguments<"statement">, options?: CallOptions): Promise<Result<"statement">> {
    return this.call("statement", "wing", args, options);
  }

  /** Read changes after a position: events, statements, concepts, intents, jobs, forgotten events. */
  changes(args: Arguments<"changes"> = {}, options?: CallOptions): Promise<Result<"changes">> {
    return this.call("changes", "wing", args, options);
  }

  /** Find events by their words alone; faster than `recall`. */
  glance(args: Arguments<"glance">, options?: CallOptions): Promise<Result<"glance">> {
    return this.call("glance", "wing", args, options);
  }

  /** List the facts that were true in a span of time, those that covered most of it first. */
  held(args: Arguments<"held">, options?: CallOptions): Promise<Result<"held">> {
    return this.call("held", "wing", args, options);
  }

  /** Read one intent by its id, whatever its status. */
  intent(args: Arguments<"intent">, options?: CallOptions): Promise<Result<"intent">> {
    return this.call("intent", "wing", args, options);
  }

  /** List queued jobs, oldest first. */
  jobs(args: Arguments<"jobs"> = {}, options?: CallOptions): Promise<Result<"jobs">> {
    return this.call("jobs", "wing", args, options);
  }

  /** List the strongest concepts, entities and intents, and the edges between them. */
  map(args: Arguments<"map"> = {}, options?: CallOptions): Promise<Result<"map">> {
    return this.call("map", "wing", args, options);
  }

  /** List the different values that a member of `meta` has. */
  metaValues(args: Arguments<"meta_values">, options?: CallOptions): Promise<Result<"meta_values">> {
    return this.call("meta_values", "wing", args, options);
  }

  /** List what was forgotten, latest first: when and how much, never what was said. */
  receipts(args: Arguments<"receipts"> = {}, options?: CallOptions): Promise<Result<"receipts">> {
    return this.call("receipts", "wing", args, options);
  }

  /** Remove secrets from an event as `add` would, without writing it. */
  redacted(args: Arguments<"redacted">, options?: CallOptions): Promise<Result<"redacted">> {
    return this.call("redacted", "wing", args, options);
  }
}

export type Activity = components["schemas"]["Activity"];
export type Answer = components["schemas"]["Answer"];
export type Change = components["schemas"]["Change"];
export type Citation = components["schemas"]["Citation"];
export type Closet = components["schemas"]["Closet"];
export type Concept = components["schemas"]["Concept"];
export type ConceptEdge = components["schemas"]["ConceptEdge"];
export type ConceptView = components["schemas"]["ConceptView"];
export type Context = components["schemas"]["Context"];
export type Drawer = components["schemas"]["Drawer"];
export type Entity = components["schemas"]["Entity"];
export type EntityEdit = components["schemas"]["EntityEdit"];
export type Event = components["schemas"]["Event"];
export type Evidence = components["schemas"]["Evidence"];
export type Fact = components["schemas"]["Fact"];
export type FactDraft = components["schemas"]["FactDraft"];
export type Folded = components["schemas"]["Folded"];
export type Ground = components["schemas"]["Ground"];
export type Hall = components["schemas"]["Hall"];
export type History = components["schemas"]["History"];
export type Hit = components["schemas"]["Hit"];
export type Identity = components["schemas"]["Identity"];
export type Imported = components["schemas"]["Imported"];
export type Intent = components["schemas"]["Intent"];
export type JournalEntry = components["schemas"]["JournalEntry"];
export type Map = components["schemas"]["Map"];
export type MapEdge = components["schemas"]["MapEdge"];
export type MapNode = components["schemas"]["MapNode"];
export type News = components["schemas"]["News"];
export type Palace = components["schemas"]["Palace"];
export type PalaceWing = components["schemas"]["PalaceWing"];
export type Problem = components["schemas"]["Problem"];
export type Receipt = components["schemas"]["Receipt"];
export type Record = components["schemas"]["Record"];
export type Report = components["schemas"]["Report"];
export type Room = components["schemas"]["Room"];
export type SaidDate = components["schemas"]["SaidDate"];
export type Score = components["schemas"]["Score"];
export type Session = components["schemas"]["Session"];
export type Slot = components["schemas"]["Slot"];
export type Statement = components["schemas"]["Statement"];
export type Stats = components["schemas"]["Stats"];
export type Theme = components["schemas"]["Theme"];
export type Tunnel = components["schemas"]["Tunnel"];
export type Version = components["schemas"]["Version"];
export type Waiting = components["schemas"]["Waiting"];
export type WakeUp = components["schemas"]["WakeUp"];
export type WakeUpLine = components["schemas"]["WakeUpLine"];
export type Window = components["schemas"]["Window"];
export type WindowItem = components["schemas"]["WindowItem"];
export type Written = components["schemas"]["Written"];
export type WrittenSentence = components["schemas"]["WrittenSentence"];
