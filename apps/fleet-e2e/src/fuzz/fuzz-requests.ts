import { HOSTILE_BODIES, HOSTILE_CONTENT_TYPES, HOSTILE_SEGMENTS, HOSTILE_VALUES } from './hostile-values.js';
import type { Operation, Parameter } from './operations.js';
import type { Random } from './random.js';
import type { KnownIds, ValidValues } from './valid-values.js';

/** One request of the fuzz test, without its credential. */
export interface FuzzRequest {
  method: string;
  /** Path and query string with their percent-encoding. */
  target: string;
  headers: Record<string, string>;
  body?: string;
  /** The difference to a valid request: `body name: extreme date`; `valid`. */
  mutation: string;
}

type Mutation = 'mutateQuery' | 'mutatePath' | 'mutateHeaders' | 'mutateBody' | 'replaceBody';

/** The largest body that services read is 1 MB; most are far smaller, so that a run sends many requests. */
const MAX_BODY_CHARACTERS = 1_200_000;
const BOUNDARY = 'fuzz-boundary';
const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

/** Builds requests of an operation: valid ones and mutations of them. */
export class FuzzRequests {
  constructor(
    private readonly values: ValidValues,
    private readonly idsOf: (operation: Operation) => KnownIds,
  ) {}

  create(operation: Operation, random: Random): FuzzRequest {
    const valid = this.createValid(operation, random);
    const kinds: Mutation[] = ['mutateQuery', 'mutatePath', 'mutateHeaders'];
    if (operation.body) kinds.push('mutateBody', 'mutateBody', 'mutateBody', 'mutateBody', 'replaceBody');
    const mutated = random.chance(0.2) ? valid : this[random.pick(kinds)](valid, operation, random);
    return (mutated.body?.length ?? 0) > MAX_BODY_CHARACTERS ? valid : mutated;
  }

  createValid(operation: Operation, random: Random): FuzzRequest {
    const { body, method } = operation;
    const headers: Record<string, string> = {};
    for (const { name, schema } of operation.parameters.filter(({ in: location }) => location === 'header')) {
      if (random.chance(0.2)) headers[name] = encodeURIComponent(String(this.values.create(schema ?? {}, random)));
    }
    const request: FuzzRequest = {
      method,
      target: this.pathOf(operation, random) + this.queryOf(operation, random),
      headers,
      mutation: 'valid',
    };
    if (!body) return request;
    const isForm = body.contentType.startsWith('multipart/');
    headers['content-type'] = isForm ? `multipart/form-data; boundary=${BOUNDARY}` : body.contentType;
    const value = this.values.create(body.schema, random, { name: '', example: body.example });
    request.body = isForm ? formOf(value as Record<string, unknown>) : JSON.stringify(value);
    return request;
  }

  private pathOf(operation: Operation, random: Random): string {
    const ids = this.idsOf(operation);
    return operation.path.replace(/\{(\w+)\}/g, (_, name: string) => {
      const known = ids[name] ?? [];
      return known.length > 0 && random.chance(0.9) ? random.pick(known) : random.uuid();
    });
  }

  private queryOf({ parameters }: Operation, random: Random): string {
    const known = parameters.filter(({ in: location }) => location === 'query');
    const sent = known.filter(({ required }) => required || random.chance(1 / known.length));
    const pairs = sent.map(
      ({ name, schema }) => [name, String(this.values.create(schema ?? {}, random, { name }))] as [string, string],
    );
    return pairs.length === 0 ? '' : `?${String(new URLSearchParams(pairs))}`;
  }

  mutateQuery(request: FuzzRequest, { parameters }: Operation, random: Random): FuzzRequest {
    const names = parameters.filter(({ in: location }) => location === 'query').map(({ name }: Parameter) => name);
    const name =
      names.length > 0 && random.chance(0.8) ? random.pick(names) : random.pick(['surprise', '__proto__', '']);
    const value = random.pick(HOSTILE_SEGMENTS);
    const [shape, pair] = random.pick([
      ['value', `${name}=${value}`],
      ['duplicate', `${name}=1&${name}=${value}`],
      ['list', `${name}[]=${value}&${name}[]=2`],
      ['object', `${name}[a]=${value}`],
      ['prototype', `${name}[__proto__]=${value}&${name}[constructor]=1`],
      ['index', `${name}[99999999]=${value}`],
      ['without value', name],
      ['empty', `${name}=`],
      ['dot', `${name}.a=${value}`],
    ] as const);
    const separator = request.target.includes('?') ? '&' : '?';
    return { ...request, target: `${request.target}${separator}${pair}`, mutation: `query ${name}: ${shape}` };
  }

  mutatePath(request: FuzzRequest, operation: Operation, random: Random): FuzzRequest {
    const [path = '', query] = request.target.split('?', 2);
    const segments = path.split('/');
    const positions = operation.path.split('/').flatMap((segment, index) => (segment.startsWith('{') ? [index] : []));
    const position = positions.length > 0 ? random.pick(positions) : segments.length;
    segments[position] = random.pick(HOSTILE_SEGMENTS);
    const target = segments.join('/') + (query === undefined ? '' : `?${query}`);
    return { ...request, target, mutation: `path segment ${position}` };
  }

  mutateHeaders(request: FuzzRequest, operation: Operation, random: Random): FuzzRequest {
    if (operation.body && random.chance(0.6)) {
      const contentType = random.pick(HOSTILE_CONTENT_TYPES);
      return { ...request, headers: { ...request.headers, 'content-type': contentType }, mutation: 'content type' };
    }
    const [name, value] = random.pick([
      ['x-request-id', random.pick(['', ' ', 'a b', 'x'.repeat(200), '../..', '%00'])],
      ['x-forwarded-for', random.pick(['', 'unknown', '999.1.1.1', '::1, ::ffff:1.2.3.4', 'a'.repeat(500)])],
      ['x-forwarded-proto', random.pick(['', 'gopher', 'https,http', 'http,https'])],
      ['traceparent', random.pick(['00-0-0-00', 'x', '00-' + '0'.repeat(32) + '-' + '0'.repeat(16) + '-00'])],
      ['content-encoding', random.pick(['gzip', 'identity', 'br', 'x'])],
      ['accept', random.pick(['text/html', '', 'image/*;q=2', '*'])],
      ['if-none-match', random.pick(['*', '"x"', 'W/', 'x'.repeat(1_000)])],
      ['range', 'bytes=0-1,99999999999999999999-'],
      ['origin', random.pick(['null', 'https://evil.test', 'x'])],
      ['cookie', random.pick(['refreshToken=x', '__proto__=1', '=;=', 'a="', 'refresh_token=%zz'])],
      ['idempotency-key', random.pick(['', 'x'.repeat(300), 'k'])],
      ['user-agent', random.pick(['', 'x'.repeat(4_000), '${jndi:x}'])],
    ] as const);
    return { ...request, headers: { ...request.headers, [name]: value }, mutation: `header ${name}` };
  }

  mutateBody(request: FuzzRequest, operation: Operation, random: Random): FuzzRequest {
    if (!request.headers['content-type']?.startsWith('application/json'))
      return this.replaceBody(request, operation, random);
    const value = JSON.parse(request.body ?? '{}') as unknown;
    const names = Object.keys(this.values.propertiesOf(operation.body?.schema ?? {}));
    const changes: string[] = [];
    let text = '';
    for (let count = random.pick([1, 1, 1, 2, 3]); count > 0; count--) {
      const kind = random.pick(Object.keys(HOSTILE_VALUES));
      const path = replaceOne(value, names, random, `\ue000${changes.length}\ue000`);
      if (path !== null) changes.push(`${path}: ${kind}`);
    }
    text = JSON.stringify(value);
    changes.forEach((change, index) => {
      const kind = change.split(': ')[1] ?? '';
      text = text.replace(`"\ue000${index}\ue000"`, () => HOSTILE_VALUES[kind]?.(random) ?? 'null');
    });
    return { ...request, body: text.replace(/"\ue000\d\ue000"/g, 'null'), mutation: `body ${changes.join(', ')}` };
  }

  replaceBody(request: FuzzRequest, _operation: Operation, random: Random): FuzzRequest {
    const { body = '' } = request;
    const [mutation, text] = random.pick([
      ['truncated body', body.slice(0, random.integer(0, body.length))],
      [
        'damaged body',
        `${body.slice(0, random.integer(0, body.length))}${random.pick(['"', '\u0000', '}', '\ufffd'])}`,
      ],
      ['body twice', body + body],
      ['body in a list', `[${body}]`],
      ['other body', random.pick(HOSTILE_BODIES)],
      ['other body', random.pick(HOSTILE_BODIES)],
    ] as const);
    return { ...request, body: text, mutation };
  }
}

/**
 * Replaces one value somewhere in a body with a mark, or adds a field.
 * @param names  fields of the body that may be absent
 * @returns the path of the value, null when there is none
 */
function replaceOne(root: unknown, names: readonly string[], random: Random, mark: string): string | null {
  if (typeof root !== 'object' || root === null) return null;
  const path: string[] = [];
  let parent = root as Record<string, unknown>;
  for (;;) {
    const own = Object.keys(parent);
    const absent = path.length === 0 ? names : [];
    const extra = random.chance(0.05) ? ['surprise', 'constructor', 'a.b', ''] : [];
    const candidates = [...own, ...absent, ...extra];
    if (candidates.length === 0) return null;
    const key = random.pick(candidates);
    path.push(key);
    const inner = parent[key];
    const isNested = typeof inner === 'object' && inner !== null && Object.keys(inner).length > 0;
    if (isNested && random.chance(0.6)) parent = inner as Record<string, unknown>;
    else {
      parent[key] = mark;
      return path.join('.');
    }
  }
}

function formOf(fields: Record<string, unknown>): string {
  const parts = Object.entries(fields).map(([name, value]) => {
    const isFile = ['file', 'binary'].includes(name);
    const head = `Content-Disposition: form-data; name="${name}"${isFile ? '; filename="a.png"\r\nContent-Type: image/png' : ''}`;
    return `--${BOUNDARY}\r\n${head}\r\n\r\n${isFile ? Buffer.from(PIXEL, 'base64').toString('latin1') : String(value)}\r\n`;
  });
  return `${parts.join('')}--${BOUNDARY}--\r\n`;
}
