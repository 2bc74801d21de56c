/** Client of the memory service Jiyi. Paths, bodies and replies are typed by its OpenAPI document (`schema.ts`, generated). */

import { EventSourceParserStream } from "eventsource-parser/stream";
import createFetchClient, { type Client, type Middleware } from "openapi-fetch";

import type { Calls } from "./calls.js";
import { JiyiError } from "./errors.js";
import { identified } from "./identified.js";
import { entries, type Entry, type ListInit, type ListPath } from "./pages.js";
import { repeating, type Repeating } from "./repeating.js";
import type { components, paths } from "./schema.js";

export { JiyiError } from "./errors.js";
export type { Problem } from "./errors.js";
export type { Entry, ListInit, ListPath } from "./pages.js";
export type { components, operations, paths } from "./schema.js";

type Schemas = components["schemas"];
export type ChatBody = Schemas["ChatBody"];
export type ChatReply = Schemas["ChatReply"];
export type ResolveReply = Schemas["ResolveReply"];
export type Clarification = Schemas["Clarification"];
export type Hit = Schemas["Hit"];

/** The events of a reply, in the order in which they come; `done` has the whole of it, and the turn is stored then. */
export type ChatEvent =
  | { event: "resolution"; data: ResolveReply }
  | { event: "clarification"; data: Clarification }
  | { event: "sources"; data: { hits: Hit[] } }
  | { event: "delta"; data: { text: string } }
  | { event: "done"; data: ChatReply };

export interface JiyiOptions extends Partial<Repeating> {
  /** Base URL of the service. */
  baseUrl?: string;
  /** An API key or token, where the service asks for one. */
  apiKey?: string;
  /** The app to act in, for a credential of scope `admin`. */
  app?: string;
  /** In place of the global `fetch`. */
  fetch?: typeof globalThis.fetch;
}

export interface Jiyi extends Calls, Pick<Client<paths>, "use" | "eject"> {
  /** `POST /chat` as events; an error within the stream is thrown. */
  stream(body: Omit<ChatBody, "stream">): AsyncGenerator<ChatEvent, void, undefined>;
  /** All entries of a list; each page is fetched when the one before has been gone over. */
  pages<Path extends ListPath>(path: Path, init?: ListInit<Path>): AsyncGenerator<Entry<Path>, void, undefined>;
}

/**
 * Makes a client: `jiyi.POST("/chat", { body })`, `jiyi.GET("/persona", { params })`, `jiyi.pages("/items", { params })`,
 * `jiyi.stream(body)`.
 *
 * Every reply that is none of success is thrown as a `JiyiError`, so that `data` is there where a call returns. A message
 * gets a `turn_id` where it has none, a decision about memories an `idempotency_key`, and with them calls are repeated
 * while the service cannot be reached or is busy.
 */
export function createClient(options: JiyiOptions = {}): Jiyi {
  const { baseUrl = "http://127.0.0.1:8000", apiKey, app, patienceMs = 10_000, sleep } = options;
  const send = repeating(options.fetch ?? globalThis.fetch, { patienceMs, sleep });
  const headers = {
    ...(apiKey && { Authorization: `Bearer ${apiKey}` }),
    ...(app && { "X-Jiyi-App": app }),
  };
  const client = createFetchClient<paths>({ baseUrl, headers, fetch: send });
  client.use(identified, refused);
  const calls: Calls = client as Calls; // `refused` leaves none but replies of success
  return Object.assign(calls, {
    use: client.use,
    eject: client.eject,
    pages: <Path extends ListPath>(path: Path, init?: ListInit<Path>) => entries(calls, path, init),
    stream: async function* (body: Omit<ChatBody, "stream">): AsyncGenerator<ChatEvent, void, undefined> {
      const { response } = await client.POST("/chat", { body: { ...body, stream: true } as ChatBody, parseAs: "stream" });
      if (response.body === null) return;
      const events = response.body.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream());
      for await (const { event, data } of events) {
        if (event === "error") throw JiyiError.of(JSON.parse(data));
        yield { event, data: JSON.parse(data) } as ChatEvent;
      }
    },
  });
}

/** Throws what the service refused. */
const refused: Middleware = {
  async onResponse({ response }) {
    if (!response.ok) throw await JiyiError.from(response);
    return undefined;
  },
};
