// Against a running service, whose address is in JIYI_URL (tests/clients/test_typescript.py starts one).
import assert from "node:assert/strict";
import { test } from "node:test";

import { createClient, JiyiError } from "../dist/index.js";

const baseUrl = process.env.JIYI_URL;
const SAID = "我們公司買了 AI-Box，放在三樓機房。";
const ASKED = "它放在哪裡？";
const jiyi = createClient({ baseUrl });

/** A fetch that answers with one thing after the other, then as the service does. */
function faulty(...answers) {
  const sent = [];
  const pauses = [];
  const fetch = async (request) => {
    sent.push(await request.clone().text());
    const answer = answers.shift();
    if (answer instanceof Error) throw answer;
    return answer ?? globalThis.fetch(request);
  };
  return { sent, pauses, fetch, sleep: async (ms) => void pauses.push(ms) };
}

test("a conversation is remembered, resolved and found", async () => {
  const { data: first } = await jiyi.POST("/chat", { body: { user_id: "node", message: SAID, wait: true } });
  assert.ok(first.turn_id);
  const { data: reply } = await jiyi.POST("/chat", { body: { user_id: "node", message: ASKED } });
  assert.equal(reply.resolved_query, "AI-Box 放在哪裡？");
  assert.match(reply.reply, /三樓機房/);
  const { data: found } = await jiyi.POST("/search", { body: { user_id: "node", query: "機房", kinds: ["memory"] } });
  assert.equal(found.results[0].text, SAID);
});

test("a reply comes as events whose pieces are the whole", async () => {
  await jiyi.POST("/chat", { body: { user_id: "stream", message: SAID, wait: true } });
  const events = [];
  for await (const event of jiyi.stream({ user_id: "stream", message: ASKED })) events.push(event);
  assert.equal(events[0].event, "resolution");
  const pieces = events.filter(({ event }) => event === "delta").map(({ data }) => data.text);
  const { event, data } = events.at(-1);
  assert.deepEqual([event, data.reply], ["done", pieces.join("")]);
});

test("a refusal is thrown, with the field and what to do", async () => {
  const asked = jiyi.POST("/search", { body: { user_id: "node", query: "x", top_k: 0 } });
  await assert.rejects(asked, (error) => {
    assert.ok(error instanceof JiyiError);
    assert.deepEqual([error.status, error.fields[0].field, error.fields[0].allowed], [422, "top_k", "at least 1"]);
    assert.match(error.advice, /Change what `fields` names/);
    return true;
  });
  await assert.rejects(jiyi.GET("/memories/{memory_id}", {
    params: { path: { memory_id: "0b5e4d4e-0000-4000-8000-000000000000" }, query: { user_id: "node" } },
  }), { status: 404 });
});

test("a list goes on at its cursor", async () => {
  const messages = [1, 2, 3].map((number) => ({ content: `Part ZX${number}-77 is in hall ${number}.` }));
  await jiyi.POST("/memories", { body: { user_id: "pages", messages } });
  const seen = [];
  let after;
  do {
    const { data } = await jiyi.GET("/memories/timeline", { params: { query: { user_id: "pages", limit: 2, after } } });
    seen.push(...data.results.map(({ memory }) => memory.text));
    after = data.next;
  } while (after);
  assert.equal(seen.length, 3);
});

test("a message is repeated with one id, when the service says so", async () => {
  const busy = new Response("{}", { status: 429, headers: { "Retry-After": "7" } });
  const { sent, pauses, ...network } = faulty(busy, new TypeError("fetch failed"), new Response("", { status: 502 }));
  const patient = createClient({ baseUrl, ...network });
  await patient.POST("/chat", { body: { user_id: "again", message: "RM05-008 arrived.", wait: true } });
  assert.equal(sent.length, 4);
  assert.equal(new Set(sent).size, 1);
  assert.ok(JSON.parse(sent[0]).turn_id);
  assert.ok(pauses[0] >= 7_000);
});

test("what may have been done is not done twice", async () => {
  const { sent, pauses, ...network } = faulty(new Response("{}", { status: 503 }));
  const patient = createClient({ baseUrl, ...network });
  await assert.rejects(patient.POST("/keys", { body: { name: "backend", scope: "app" } }), { status: 503 });
  assert.equal(sent.length, 1);
});
