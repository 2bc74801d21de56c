import type { Middleware } from "openapi-fetch";

const WITH_TURN = new Set(["/chat", "/chat/after", "/ingest"]);

/** Gives each message its `turn_id` and each decision its `idempotency_key`, so that a repeat of the call is kept once. */
export const identified: Middleware = {
  async onRequest({ request, schemaPath }) {
    if (request.method === "DELETE" && schemaPath === "/memories/{memory_id}") return withKey(request);
    if (request.method !== "POST") return undefined;
    if (WITH_TURN.has(schemaPath)) return changed(request, withTurn);
    if (schemaPath === "/memories") return changed(request, withTurns);
    if (schemaPath === "/memories/audit") return changed(request, withDecision);
    return undefined;
  },
};

type Body = Record<string, unknown>;

function withTurn(body: Body): Body {
  return { ...body, turn_id: body["turn_id"] ?? crypto.randomUUID() };
}

function withTurns(body: Body): Body {
  return Array.isArray(body["messages"]) ? { ...body, messages: body["messages"].map(withTurn) } : withTurn(body);
}

function withDecision(body: Body): Body {
  return { ...body, idempotency_key: body["idempotency_key"] ?? crypto.randomUUID() };
}

function withKey(request: Request): Request | undefined {
  const url = new URL(request.url);
  if (url.searchParams.has("idempotency_key")) return undefined;
  url.searchParams.set("idempotency_key", crypto.randomUUID());
  return new Request(url, request);
}

async function changed(request: Request, change: (body: Body) => Body): Promise<Request> {
  return new Request(request, { body: JSON.stringify(change(await request.clone().json())) });
}
