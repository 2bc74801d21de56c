/** Client of the memory service Jiyi. Paths, bodies and replies are typed by its OpenAPI document (`schema.ts`, generated). */

import { EventSourceParserStream } from "eventsource-parser/stream";
import createFetchClient, { type Client, type Middleware } from "openapi-fetch";

import { JiyiError } from "./errors.js";
import { repeating, type Repeating } from "./repeating.js";
import type { components, paths } from "./schema.js";

export { JiyiError } from "./errors.js";
export type { Problem } from "./errors.js";
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

export interface Jiyi extends Client<paths> {
  /** `POST /chat` as events; an error within the stream is thrown. */
  stream(body: Omit<ChatBody, "stream">): AsyncGenerator<ChatEvent, void, undefined>;
}

const WITH_TURN = new Set(["/chat", "/chat/after", "/ingest"]);

/**
 * Makes a client: `jiyi.POST("/chat", { body })`, `jiyi.GET("/items", { params })`, `jiyi.stream(body)`.
 *
 * Every reply that is none of success is thrown as a `JiyiError`, so that `data` is there where a call returns. A message
 * gets a `turn_id` where it has none, and with it calls are repeated while the service cannot be reached or is busy.
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
  return Object.assign(client, {
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

/** Gives each message an id, so that a repeat of the call is kept once. */
const identified: Middleware = {
  async onRequest({ request, schemaPath }) {
    if (request.method !== "POST" || !WITH_TURN.has(schemaPath)) return undefined;
    const body = await request.clone().json();
    if (body.turn_id) return undefined;
    return new Request(request, { body: JSON.stringify({ turn_id: crypto.randomUUID(), ...body }) });
  },
};

/** Throws what the service refused. */
const refused: Middleware = {
  async onResponse({ response }) {
    if (!response.ok) throw await JiyiError.from(response);
    return undefined;
  },
};
