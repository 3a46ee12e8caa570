import { isUtf8 } from 'node:buffer';
import type { DomainError } from '../errors/domain-error.js';
import { BadRequestError, PayloadTooLargeError, UnsupportedMediaTypeError } from '../errors/errors.js';
import type { KitRequest } from './kit-request.js';
import { PathRules, type PathRule } from './path-rules.js';
import { UnreadableBody } from './unreadable-body.js';

/** How bodies of some routes are read; all others are JSON of at most 1 MB. */
export interface BodyRule extends PathRule {
  limitBytes: number;
  /** Media types without parameters; `application/json` unless named. `image/*` and the like are understood. */
  contentTypes?: readonly string[];
  /** `json` parses; `buffer` leaves the bytes in `body`; `stream` leaves the request unread for the handler. */
  read?: 'json' | 'buffer' | 'stream';
}

class MalformedJson extends BadRequestError {
  override code = 'malformed_json';
  override error = 'Malformed JSON';
}

const DEFAULT_RULE: BodyRule = { path: '', limitBytes: 1024 * 1024 };
const JSON_TYPE = ['application/json'];

/** Reads bodies within their ceilings. */
export class BodyReader {
  private readonly rules: PathRules<BodyRule>;

  constructor(rules: readonly BodyRule[]) {
    this.rules = new PathRules(rules);
  }

  /** What can be said from the headers alone: the ceiling, then the media type. */
  complaint(request: KitRequest): DomainError | undefined {
    if (!hasBody(request)) return undefined;
    const rule = this.ruleOf(request);
    if (Number(request.headers['content-length'] ?? 0) > rule.limitBytes) return new PayloadTooLargeError();
    if (!accepts(rule, request.headers['content-type'])) return new UnsupportedMediaTypeError();
    const encoding = request.headers['content-encoding'];
    return encoding === undefined || encoding === 'identity' ? undefined : new UnsupportedMediaTypeError();
  }

  /** Calls back once the body is in `request.body` and `request.rawBody`, at once when there is none. */
  read(request: KitRequest, done: (error?: DomainError) => void): void {
    const rule = hasBody(request) ? this.ruleOf(request) : undefined;
    if (rule === undefined || rule.read === 'stream') return done();
    collect(request, rule.limitBytes, (error, bytes) => {
      if (error) return done(error);
      request.rawBody = bytes;
      request.body = rule.read === 'buffer' ? bytes : parse(bytes);
      done();
    });
  }

  private ruleOf(request: KitRequest): BodyRule {
    return this.rules.find(request.pathname) ?? DEFAULT_RULE;
  }
}

export function hasBody({ headers }: KitRequest): boolean {
  return headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0';
}

function accepts(rule: BodyRule, contentType: string | undefined): boolean {
  const [type, ...parameters] = (contentType ?? '').toLowerCase().split(';');
  const charset = parameters.find((parameter) => parameter.trim().startsWith('charset='));
  if (charset && !/^charset="?utf-?8"?$/.test(charset.trim())) return false;
  return (rule.contentTypes ?? JSON_TYPE).some((wanted) =>
    wanted.endsWith('/*') ? type.trim().startsWith(wanted.slice(0, -1)) : type.trim() === wanted,
  );
}

function collect(
  request: KitRequest,
  limitBytes: number,
  done: (error: DomainError | undefined, bytes: Buffer) => void,
): void {
  const chunks: Buffer[] = [];
  let size = 0;
  request.on('data', (chunk: Buffer) => {
    size += chunk.length;
    if (size <= limitBytes) chunks.push(chunk);
    else if (size - chunk.length <= limitBytes) {
      chunks.length = 0;
      done(new PayloadTooLargeError(), Buffer.alloc(0));
    }
  });
  request.on('end', () => {
    if (size <= limitBytes) done(undefined, chunks.length === 1 ? chunks[0] : Buffer.concat(chunks, size));
  });
}

function parse(bytes: Buffer): unknown {
  if (bytes.length === 0) return undefined;
  try {
    if (isUtf8(bytes)) return JSON.parse(bytes.toString()) as unknown;
  } catch {
    // falls through: not JSON is not JSON, whatever the reason
  }
  return new UnreadableBody(new MalformedJson());
}
