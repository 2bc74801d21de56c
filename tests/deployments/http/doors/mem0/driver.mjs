// Calls mem0's TypeScript client: a call is a line of JSON on standard input, what came of it one on output.
import { createInterface } from "node:readline";
import { createRequire } from "node:module";

const [folder, host, apiKey] = process.argv.slice(2);
const { MemoryClient } = createRequire(`${folder}/package.json`)("mem0ai");
const camel = (name) => name.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase());
const client = new MemoryClient({ apiKey, host });

for await (const line of createInterface({ input: process.stdin })) {
  const { method, args, named } = JSON.parse(line);
  const options = Object.fromEntries(Object.entries(named).map(([name, value]) => [camel(name), value]));
  let outcome;
  try {
    const given = Object.keys(options).length ? [...args, options] : args;
    outcome = { result: await client[camel(method)](...given) };
  } catch (error) {
    outcome = { error: error.name, message: error.message };
  }
  process.stdout.write(`${JSON.stringify(outcome)}\n`);
}
