import type { FetchOptions } from "openapi-fetch";

import type { Calls } from "./calls.js";
import type { paths } from "./schema.js";

type Reply<Path extends keyof paths> = paths[Path] extends {
  get: { responses: { 200: { content: { "application/json": infer Json } } } };
}
  ? Json
  : never;
type Query<Path extends keyof paths> = NonNullable<NonNullable<paths[Path]["get"]>["parameters"]["query"]>;
type Params = { query?: object; path?: object };

/** A page, and the cursor of the next one; none on the last. */
interface Page {
  results: readonly unknown[];
  next?: string | number | null;
}

/** The routes whose lists come in pages. */
export type ListPath = {
  [Path in keyof paths]: [Reply<Path>] extends [never]
    ? never
    : "next" extends keyof Reply<Path>
      ? Reply<Path> extends Page
        ? Path
        : never
      : never;
}[keyof paths];

/** An entry of such a list. */
export type Entry<Path extends ListPath> = Reply<Path> extends { results: readonly (infer One)[] } ? One : never;

/** Which parameter takes the cursor of the next page. */
const CURSORS: { readonly [Path in ListPath]: keyof Query<Path> & ("after" | "before" | "cursor") } = {
  "/aam/entities": "after",
  "/changes": "before",
  "/items": "after",
  "/keys": "after",
  "/knowledge/base/{corpus_id}/sources": "after",
  "/knowledge/pipelines": "cursor",
  "/memories/audit": "before",
  "/memories/timeline": "after",
  "/memories/{memory_id}/history": "before",
  "/review": "after",
  "/users": "after",
};

/** `params` of a list: path and query. */
export type ListInit<Path extends ListPath> = Pick<FetchOptions<NonNullable<paths[Path]["get"]>>, "params">;

/** The entries of all pages of a list, each page fetched when the one before has been gone over. */
export async function* entries<Path extends ListPath>(
  calls: Calls,
  path: Path,
  { params }: ListInit<Path> = {},
): AsyncGenerator<Entry<Path>, void, undefined> {
  const get = calls.GET as (path: ListPath, init: { params: Params }) => Promise<{ data: Page }>;
  const given: Params | undefined = params;
  let next: Page["next"];
  do {
    const query = { ...given?.query, ...(next != null && { [CURSORS[path]]: next }) };
    const { data } = await get(path, { params: { ...given, query } });
    yield* data.results as Entry<Path>[];
    next = data.next;
  } while (next != null);
}
