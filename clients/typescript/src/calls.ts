import type { Client, ClientPathsWithMethod, FetchResponse, MaybeOptionalInit } from "openapi-fetch";

import type { paths } from "./schema.js";

type HttpMethod = "get" | "put" | "post" | "delete" | "patch";
type Media = `${string}/${string}`;
type Arguments<Init> = {} extends Init ? [(Init & Record<string, unknown>)?] : [Init & Record<string, unknown>];

/** What a call returns: its JSON, where it has one, and else what it has. */
type Data<Operation extends Record<string | number, any>, Init> =
  unknown extends FetchResponse<Operation, Init, "application/json">["data"]
    ? NonNullable<FetchResponse<Operation, Init, Media>["data"]>
    : NonNullable<FetchResponse<Operation, Init, "application/json">["data"]>;

/** A call as openapi-fetch has it, but `data` is always there: what is refused is thrown. */
type Call<M extends HttpMethod> = <
  Path extends ClientPathsWithMethod<Client<paths>, M>,
  Init extends MaybeOptionalInit<paths[Path], M>,
>(
  path: Path,
  ...init: Arguments<Init>
) => Promise<{ data: Data<paths[Path][M] & {}, Init>; response: Response }>;

/** The calls of every route. */
export interface Calls {
  GET: Call<"get">;
  PUT: Call<"put">;
  POST: Call<"post">;
  DELETE: Call<"delete">;
  PATCH: Call<"patch">;
}
