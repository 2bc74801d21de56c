/** How long calls are repeated, and what a pause is. */
export interface Repeating {
  /** For how many milliseconds a call is repeated where that is harmless; 0 for one attempt. */
  patienceMs: number;
  /** Waits for so many milliseconds. */
  sleep: ((ms: number) => Promise<void>) | undefined;
}

const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 8_000;
const AWAY = new Set([500, 502, 503, 504]);
const HARMLESS_METHODS = new Set(["GET", "PUT", "DELETE"]);
const READING = /^\/(search|resolve|chat\/before|aam\/retrieve|entities\/(search|by-reference|context)|knowledge\/.*search)$/;

/**
 * A `fetch` that repeats: after 429, which was not carried out, every call; after other failures that may pass those
 * which may be carried out twice, since they read, say what is to be, or carry an id of their own.
 */
export function repeating(fetch: typeof globalThis.fetch, { patienceMs, sleep = pause }: Repeating) {
  return async (request: Request): Promise<Response> => {
    const harmless = await isHarmless(request);
    const end = Date.now() + patienceMs;
    for (let longest = FIRST_PAUSE_MS; ; longest = Math.min(LONGEST_PAUSE_MS, 2 * longest)) {
      let least = FIRST_PAUSE_MS;
      try {
        const response = await fetch(request.clone());
        const passes = response.status === 429 || (harmless && AWAY.has(response.status));
        if (!passes || Date.now() >= end) return response;
        least = 1_000 * Number(response.headers.get("Retry-After") ?? FIRST_PAUSE_MS / 1_000);
        await response.body?.cancel();
      } catch (error) {
        if (!harmless || !(error instanceof TypeError) || Date.now() >= end) throw error;
      }
      await sleep(Math.max(0, Math.min(least + Math.random() * longest, end - Date.now())));
    }
  };
}

async function isHarmless(request: Request): Promise<boolean> {
  if (HARMLESS_METHODS.has(request.method) || READING.test(new URL(request.url).pathname)) return true;
  if (!request.headers.get("content-type")?.startsWith("application/json")) return false;
  const body = await request.clone().json();
  return Boolean(body.turn_id ?? body.idempotency_key) || isOfTurns(body.messages);
}

function isOfTurns(messages: unknown): boolean {
  return Array.isArray(messages) && messages.length > 0 && messages.every((message) => Boolean(message?.turn_id));
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
