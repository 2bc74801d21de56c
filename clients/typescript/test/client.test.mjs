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

test("a list is gone over to its end, page by page", async () => {
  const messages = [1, 2, 3].map((number) => ({ content: `Part ZX${number}-77 is in hall ${number}.` }));
  await jiyi.POST("/memories", { body: { user_id: "pages", messages } });
  const params = { query: { user_id: "pages", limit: 2 } };
  const { sent, ...network } = faulty();
  const seen = [];
  for await (const { memory } of createClient({ baseUrl, ...network }).pages("/memories/timeline", { params })) {
    seen.push(memory.text);
  }
  assert.deepEqual(seen.toSorted(), messages.map(({ content }) => content));
  assert.equal(sent.length, 2);
});

test("a list whose cursor has another name and a place in the path goes on, too", async () => {
  const { data: added } = await jiyi.POST("/memories", { body: { user_id: "log", text: "RM05-008 arrived." } });
  const path = { memory_id: added.results[0].id };
  for (const text of ["RM05-009 arrived.", "RM05-010 arrived.", "RM05-011 arrived."]) {
    await jiyi.PUT("/memories/{memory_id}", { params: { path }, body: { user_id: "log", text } });
  }
  const all = [];
  const params = { path, query: { user_id: "log", limit: 1 } };
  for await (const change of jiyi.pages("/memories/{memory_id}/history", { params })) all.push(change.change_id);
  assert.equal(new Set(all).size, all.length);
  assert.ok(all.length >= 3);
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

test("memories are added once, although the reply to them is lost", async () => {
  for (const [user_id, given] of [
    ["notes", { text: "The spare key is in the blue drawer." }],
    ["turns", { messages: [{ content: "The lamp is green." }, { content: "The door is red.", turn_id: "t2" }] }],
  ]) {
    const lost = faulty();
    const fetch = async (request) => {
      const response = await lost.fetch(request);
      if (lost.sent.length === 1) throw new TypeError("fetch failed");
      return response;
    };
    await createClient({ baseUrl, ...lost, fetch }).POST("/memories", { body: { user_id, ...given } });
    assert.deepEqual([lost.sent.length, new Set(lost.sent).size], [2, 1]);
    const { data } = await jiyi.GET("/memories/timeline", { params: { query: { user_id } } });
    assert.equal(data.results.length, given.messages?.length ?? 1);
  }
});

test("a decision about memories has a key, and is repeated with it", async () => {
  const { data: added } = await jiyi.POST("/memories", { body: { user_id: "keys", messages: [
    { content: "The lamp is green." }, { content: "The door is red." },
  ] } });
  const [kept, gone] = added.results.map(({ id }) => id);
  const busy = faulty(new Response("", { status: 503 }));
  const patient = createClient({ baseUrl, ...busy });
  await patient.POST("/memories/audit", { body: { user_id: "keys", decisions: { [kept]: "retain" } } });
  assert.deepEqual([busy.sent.length, new Set(busy.sent).size], [2, 1]);
  assert.ok(JSON.parse(busy.sent[0]).idempotency_key);
  const urls = [];
  const fetch = async (request) => {
    urls.push(request.url);
    return urls.length === 1 ? new Response("", { status: 503 }) : globalThis.fetch(request);
  };
  const removing = createClient({ baseUrl, fetch, sleep: async () => {} });
  await removing.DELETE("/memories/{memory_id}", { params: { path: { memory_id: gone }, query: { user_id: "keys" } } });
  assert.deepEqual([urls.length, new Set(urls).size], [2, 1]);
  assert.ok(new URL(urls[0]).searchParams.get("idempotency_key"));
});

test("an id that is given stays", async () => {
  const { sent, ...network } = faulty();
  const client = createClient({ baseUrl, ...network });
  await client.POST("/memories", { body: { user_id: "given", text: "The lamp is green.", turn_id: "mine" } });
  await client.POST("/memories", { body: { user_id: "given", text: "The door is red.", turn_id: null } });
  assert.equal(JSON.parse(sent[0]).turn_id, "mine");
  assert.ok(JSON.parse(sent[1]).turn_id);
});

test("what may have been done is not done twice", async () => {
  const { sent, pauses, ...network } = faulty(new Response("{}", { status: 503 }));
  const patient = createClient({ baseUrl, ...network });
  await assert.rejects(patient.POST("/keys", { body: { name: "backend", scope: "app" } }), { status: 503 });
  assert.equal(sent.length, 1);
});
