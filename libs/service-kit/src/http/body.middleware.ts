import express, { type RequestHandler, type Response } from 'express';
import { isUtf8 } from 'node:buffer';
import { PayloadTooLargeError, UnsupportedMediaTypeError, toDomainError } from '@rmm/errors';
import { UnreadableBody } from '@rmm/validation';
import { MalformedJson } from './body.errors.js';
import type { KitRequest } from './kit-request.types.js';
import { PathRules, type PathRule } from './path-rules.js';

/** Reads the bodies of some routes differently; all others are JSON of at most 1 MB. */
export interface BodyRule extends PathRule {
  limitBytes: number;
  /** Media types without parameters; `application/json` unless named. `image/*` and the like are understood. */
  contentTypes?: readonly string[];
  /**
   * `json` parses; `json-later` leaves parsing to `@LimitConcurrency` of the route, so that a refused request costs no
   * parsing; `buffer` leaves the bytes in `body`; `stream` leaves the request unread for the handler.
   */
  read?: 'json' | 'json-later' | 'buffer' | 'stream';
}

const DEFAULT_RULE: BodyRule = { path: '', limitBytes: 1024 * 1024 };
const UTF8_CHARSET = /^charset="?utf-?8"?$/;
const NOT_JSON = new Set<unknown>(['entity.parse.failed', 'entity.verify.failed']);

/** Reads bodies with Express's parsers within the limits of their routes. */
export class BodyReader {
  private readonly rules: PathRules<BodyRule>;
  private readonly parsers: ReadonlyMap<BodyRule, RequestHandler | undefined>;

  constructor(rules: readonly BodyRule[] = []) {
    this.rules = new PathRules(rules);
    this.parsers = new Map([DEFAULT_RULE, ...rules].map((rule) => [rule, parserFor(rule)]));
  }

  /** @throws PayloadTooLargeError, then UnsupportedMediaTypeError, by the headers alone */
  checkHeaders(request: KitRequest): void {
    if (!hasBody(request)) return;
    const rule = this.ruleFor(request);
    const { 'content-length': length, 'content-type': type, 'content-encoding': encoding } = request.headers;
    if (Number(length ?? 0) > rule.limitBytes) throw new PayloadTooLargeError();
    if (!accepts(rule, type) || (encoding ?? 'identity') !== 'identity') throw new UnsupportedMediaTypeError();
  }

  /**
   * Leaves the body in `request.body` and its bytes in `request.rawBody`. Malformed JSON becomes an `UnreadableBody`,
   * which the validation pipe refuses once the caller is authenticated. Undefined when there is nothing to read.
   */
  read(request: KitRequest, response: Response): Promise<void> | undefined {
    const rule = this.ruleFor(request);
    const parse = hasBody(request) ? this.parsers.get(rule) : undefined;
    if (!parse) return undefined;
    return new Promise((resolve, reject) => {
      parse(request as never, response, (failure?: unknown) => {
        if (failure === undefined) {
          if (rule.read === 'json-later') deferParsing(request);
          return resolve();
        }
        if (!NOT_JSON.has((failure as { type?: string }).type)) return reject(toDomainError(failure));
        request.body = new UnreadableBody(new MalformedJson());
        resolve();
      });
    });
  }

  private ruleFor(request: KitRequest): BodyRule {
    return this.rules.find(request.pathname) ?? DEFAULT_RULE;
  }
}

export function hasBody({ headers }: KitRequest): boolean {
  return headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0';
}

function parserFor({ limitBytes: limit, read = 'json' }: BodyRule): RequestHandler | undefined {
  const verify = (request: object, _response: unknown, bytes: Buffer) => {
    (request as KitRequest).rawBody = bytes;
    if (read.startsWith('json') && !isUtf8(bytes)) throw new Error('not UTF-8');
  };
  const options = { limit, inflate: false, type: () => true, verify };
  if (read === 'json') return express.json({ ...options, strict: false });
  return read === 'stream' ? undefined : express.raw(options);
}

const BYTE_ORDER_MARK = /^\uFEFF/;

function deferParsing(request: KitRequest): void {
  request.body = undefined;
  request.parseBody = () => parseJsonBody(request);
}

/** Parses the bytes that were read, like Express's parser. */
function parseJsonBody(request: KitRequest): void {
  request.parseBody = undefined;
  const text = request.rawBody?.toString('utf8').replace(BYTE_ORDER_MARK, '') ?? '';
  try {
    request.body = text === '' ? {} : JSON.parse(text);
  } catch {
    request.body = new UnreadableBody(new MalformedJson());
  }
}

function accepts({ contentTypes = ['application/json'] }: BodyRule, contentType = ''): boolean {
  const [type, ...parameters] = contentType.split(';').map((part) => part.trim().toLowerCase());
  const charset = parameters.find((parameter) => parameter.startsWith('charset='));
  if (charset && !UTF8_CHARSET.test(charset)) return false;
  return contentTypes.some((wanted) =>
    wanted.endsWith('/*') ? type.startsWith(wanted.slice(0, -1)) : type === wanted,
  );
}
