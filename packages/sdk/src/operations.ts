import type { paths } from './generated/api.js';

export type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';

/** The operations by their path below `/api/v1`. */
type ApiPaths = { [Path in keyof paths as Path extends `/api/v1${infer Short}` ? Short : never]: paths[Path] };

type OperationsWith<M extends Method> = {
  [
    Path in keyof ApiPaths as ApiPaths[Path] extends Record<M, infer Op>
      ? [Op] extends [never]
        ? never
        : Op extends { responses: unknown }
          ? Path
          : never
      : never
  ]: ApiPaths[Path] extends Record<M, infer Op> ? Op : never;
};

/** The paths that have an operation of a method, below `/api/v1`: `/devices/{id}`. */
export type ApiPath<M extends Method> = keyof OperationsWith<M> & string;

export type Operation<M extends Method, Path extends ApiPath<M>> = OperationsWith<M>[Path];

type JsonOf<Content> = Content extends { 'application/json': infer Json }
  ? Json
  : Content extends { 'application/scim+json': infer Json }
    ? Json
    : Content extends { 'multipart/form-data': unknown }
      ? FormData
      : unknown;

/** The parameters of an operation in one place; never when it has none. */
type ParametersOf<Op, In extends 'path' | 'query' | 'header'> = Op extends { parameters: { [Key in In]?: infer P } }
  ? NonNullable<P>
  : never;

/** Makes a field optional when it may be absent or all its fields are optional. */
type Field<Name extends string, Value> = [Value] extends [never]
  ? { [Key in Name]?: undefined }
  : object extends Value
    ? { [Key in Name]?: Value }
    : { [Key in Name]: Value };

type RequestBodyOf<Op> = Op extends { requestBody?: infer RequestBody } ? NonNullable<RequestBody> : never;

type BodyOf<Op> = RequestBodyOf<Op> extends { content: infer Content } ? JsonOf<Content> : never;

type BodyField<Op> = [RequestBodyOf<Op>] extends [never]
  ? { body?: undefined }
  : Op extends { requestBody: object }
    ? { body: BodyOf<Op> }
    : { body?: BodyOf<Op> };

interface CommonOptions {
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

/** Repeats with the same key have no further effect and get the first response. */
type IdempotencyField<Op> = [ParametersOf<Op, 'header'>] extends [never]
  ? { idempotencyKey?: undefined }
  : 'Idempotency-Key' extends keyof ParametersOf<Op, 'header'>
    ? { idempotencyKey?: string }
    : { idempotencyKey?: undefined };

/** Parameters, body and settings of a call. */
export type RequestOptions<M extends Method, Path extends ApiPath<M>> = CommonOptions &
  Field<'path', ParametersOf<Operation<M, Path>, 'path'>> &
  Field<'query', ParametersOf<Operation<M, Path>, 'query'>> &
  BodyField<Operation<M, Path>> &
  IdempotencyField<Operation<M, Path>>;

/** The options as the last arguments of a call: none when nothing is required. */
export type OptionArguments<M extends Method, Path extends ApiPath<M>> =
  object extends RequestOptions<M, Path> ? [options?: RequestOptions<M, Path>] : [options: RequestOptions<M, Path>];

type SuccessOf<Responses> = {
  [Status in keyof Responses]: Status extends 200 | 201 | 202 | 207
    ? Responses[Status] extends { content: infer Content }
      ? JsonOf<Content>
      : undefined
    : Status extends 204
      ? undefined
      : never;
}[keyof Responses];

/** The body of a successful response. */
export type ResponseBody<M extends Method, Path extends ApiPath<M>> =
  Operation<M, Path> extends { responses: infer Responses } ? SuccessOf<Responses> : never;

/** The options as the client reads them, without their types. */
export interface UntypedOptions extends CommonOptions {
  idempotencyKey?: string;
  path?: Record<string, unknown>;
  query?: Record<string, unknown>;
  body?: unknown;
}
