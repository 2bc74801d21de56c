import type { components } from "./schema.js";

/** The body of a refusal (RFC 9457). */
export type Problem = components["schemas"]["Problem"];

const ADVICE: Record<number, string> = {
  400: "Change the request, and send it again.",
  401: "Give an apiKey; an operator makes one with: jiyi keys create",
  403: "Use a key of a wider scope, or name the user or app that the key belongs to.",
  404: "Look at the id, and at whose it is.",
  409: "Read it again, and decide by what is there now.",
  413: "Send less at once.",
  422: "Change what `fields` names, and send it again.",
  429: "Send it again after `retryAfterS`.",
};

/** The service refused a call; `advice` says what to do. */
export class JiyiError extends Error {
  override readonly name = "JiyiError";

  constructor(
    message: string,
    /** HTTP status. */
    readonly status: number,
    /** The body of the refusal, as far as there is one. */
    readonly problem: Partial<Problem>,
    /** When to come back, in seconds, where the service says it. */
    readonly retryAfterS?: number,
  ) {
    super(message);
  }

  /** What is wrong with which field of the request. */
  get fields(): NonNullable<Problem["errors"]> {
    return this.problem.errors ?? [];
  }

  /** What to do. */
  get advice(): string {
    return ADVICE[this.status] ?? "See what is away with: jiyi status";
  }

  /** The error that a problem tells of. */
  static of(problem: Partial<Problem>, status = problem.status ?? 500, retryAfterS?: number): JiyiError {
    return new JiyiError(`${status}: ${problem.detail ?? problem.title ?? ""}`, status, problem, retryAfterS);
  }

  /** The error of a response that is none of success. */
  static async from(response: Response): Promise<JiyiError> {
    const text = await response.text();
    const after = Number(response.headers.get("Retry-After") ?? NaN);
    return JiyiError.of(read(text), response.status, Number.isNaN(after) ? undefined : after);
  }
}

function read(text: string): Partial<Problem> {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return { detail: text.slice(0, 200) };
    throw error;
  }
}
