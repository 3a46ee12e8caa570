import express, { type RequestHandler, type Response } from 'express';
import { isUtf8 } from 'node:buffer';
import type { DomainError } from '../errors/domain-error.js';
import { BadRequestError, PayloadTooLargeError, UnsupportedMediaTypeError } from '../errors/errors.js';
import { toDomainError } from '../errors/to-domain-error.js';
import type { KitRequest } from './kit-request.js';
import { PathRules, type PathRule } from './path-rules.js';
import { UnreadableBody } from './unreadable-body.js';

/** Reads the bodies of some routes differently; all others are JSON of at most 1 MB. */
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
const UTF8_CHARSET = /^charset="?utf-?8"?$/;

/** Reads bodies with Express's parsers within the limits of their routes. */
export class BodyMiddleware {
  private readonly rules: PathRules<BodyRule>;
  private readonly parsers = new Map<BodyRule, RequestHandler>();

  constructor(rules: readonly BodyRule[]) {
    this.rules = new PathRules(rules);
    for (const rule of [DEFAULT_RULE, ...rules]) this.parsers.set(rule, parserFor(rule));
  }

  /** Returns the error that the headers alone show: the length, then the media type. */
  checkHeaders(request: KitRequest): DomainError | undefined {
    if (!hasBody(request)) return undefined;
    const rule = this.ruleFor(request);
    if (Number(request.headers['content-length'] ?? 0) > rule.limitBytes) return new PayloadTooLargeError();
    if (!accepts(rule, request.headers['content-type'])) return new UnsupportedMediaTypeError();
    const encoding = request.headers['content-encoding'];
    return encoding === undefined || encoding === 'identity' ? undefined : new UnsupportedMediaTypeError();
  }

  /**
   * Leaves the body in `request.body` and its bytes in `request.rawBody`. Malformed JSON becomes an `UnreadableBody`,
   * which the validation pipe refuses once the caller is authenticated.
   */
  read(request: KitRequest, response: Response, done: (error?: DomainError) => void): void {
    const rule = hasBody(request) ? this.ruleFor(request) : undefined;
    const parse = rule && this.parsers.get(rule);
    if (!parse) return done();
    parse(request as never, response, (error?: unknown) => {
      if (error === undefined) return done();
      const { type } = error as { type?: string };
      if (type === 'entity.parse.failed' || type === 'entity.verify.failed') {
        request.body = new UnreadableBody(new MalformedJson());
        done();
      } else done(toDomainError(error));
    });
  }

  private ruleFor(request: KitRequest): BodyRule {
    return this.rules.find(request.pathname) ?? DEFAULT_RULE;
  }
}

export function hasBody({ headers }: KitRequest): boolean {
  return headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0';
}

function parserFor({ limitBytes: limit, read = 'json' }: BodyRule): RequestHandler {
  const isJson = read === 'json';
  const verify = (request: object, _response: unknown, bytes: Buffer) => {
    (request as KitRequest).rawBody = bytes;
    if (isJson && !isUtf8(bytes)) throw new Error('not UTF-8');
  };
  const options = { limit, inflate: false, type: () => true, verify };
  if (isJson) return express.json({ ...options, strict: false });
  return read === 'buffer' ? express.raw(options) : (_request, _response, next) => next();
}

function accepts(rule: BodyRule, contentType: string | undefined): boolean {
  const [type, ...parameters] = (contentType ?? '').toLowerCase().split(';');
  const charset = parameters.find((parameter) => parameter.trim().startsWith('charset='));
  if (charset && !UTF8_CHARSET.test(charset.trim())) return false;
  return (rule.contentTypes ?? JSON_TYPE).some((wanted) =>
    wanted.endsWith('/*') ? type.trim().startsWith(wanted.slice(0, -1)) : type.trim() === wanted,
  );
}
