import type { components } from "./schema.js";

/** What the service refused, or why it could not be asked. The message says what to do. */
export class EverywordError extends Error {
  override readonly name = "EverywordError";
  /** The name of the library's error, such as "InvalidTime"; "Unreachable" or "TimedOut" where no answer came. */
  readonly kind: string;
  /** The HTTP status; 0 where no answer came. */
  readonly status: number;
  /** How to fix it. */
  readonly fix: string;
  /** When to try again, in seconds, if the service said so. */
  readonly retryAfterS: number | undefined;

  constructor(
    about: { kind: string; status: number; detail: string; fix: string; retryAfterS?: number | undefined },
    options?: ErrorOptions,
  ) {
    super([about.detail, about.fix].filter(Boolean).join(" "), options);
    this.kind = about.kind;
    this.status = about.status;
    this.fix = about.fix;
    this.retryAfterS = about.retryAfterS;
  }
}

const PREFIX = "urn:everyword:error:";

/** Make an error from the problem document that the service sends. */
export function fromProblem(document: unknown, status: number, retryAfterS?: number): EverywordError {
  const problem = (typeof document === "object" && document !== null ? document : {}) as Partial<
    components["schemas"]["Problem"]
  >;
  if (!problem.type?.startsWith(PREFIX)) {
    const detail = `The server answered with status ${status} and no description of the error.`;
    return new EverywordError({ kind: "ServiceError", status, detail, fix: "Check the URL of the service.", retryAfterS });
  }
  return new EverywordError({
    kind: problem.type.slice(PREFIX.length),
    status: problem.status ?? status,
    detail: problem.detail ?? "",
    fix: problem.fix ?? "",
    retryAfterS,
  });
}
