import { BadRequestException } from '@nestjs/common';
import { DomainError } from './domain-error.js';
import { toDomainError } from './domain-error.mapper.js';
import * as errors from './errors.js';
import { deserializeError, serializeError } from './serialized-error.mapper.js';

class SlugTaken extends errors.ConflictError {
  override code = 'slug_taken';
  override error = 'Slug taken';
}

describe('errors', () => {
  it('speak for themselves, or say what they were given', () => {
    expect(new errors.NotFoundError()).toMatchObject({ status: 404, error: 'Not Found' });
    expect(new errors.NotFoundError('Webhook')).toMatchObject({ code: 'not_found', error: 'Webhook not found' });
    expect(new errors.ForbiddenError('No')).toMatchObject({ status: 403, error: 'No', code: 'permission_denied' });
    expect(new SlugTaken()).toMatchObject({ status: 409, code: 'slug_taken', error: 'Slug taken', name: 'SlugTaken' });
    expect(new errors.UnavailableError().retryAfterSeconds).toBe(1);
    expect(errors.ValidationError.forField('a.0', 'must be odd').error).toBe('a.0: must be odd');
    expect(errors.ValidationError.nothingToChange().fieldErrors).toEqual({ body: ['names no field to change'] });
  });

  it('cross NATS with all a caller may read, and nothing of the cause', () => {
    const sent = new SlugTaken(undefined, {
      extras: { count: 2 },
      message: 'Take another.',
      cause: new Error('secret'),
    });
    const wire = JSON.stringify(serializeError(sent));
    expect(wire).not.toContain('secret');
    const received = deserializeError(JSON.parse(wire));
    expect(received).toBeInstanceOf(errors.ConflictError);
    expect(received).toMatchObject({
      status: 409,
      code: 'slug_taken',
      error: 'Slug taken',
      sentence: 'Take another.',
      extras: { count: 2 },
    });
    const field = deserializeError(serializeError(errors.ValidationError.forField('name', 'is taken')));
    expect(field).toMatchObject({
      code: 'validation_failed',
      error: 'name: is taken',
      fieldErrors: { name: ['is taken'] },
    });
    const limited = deserializeError(serializeError(new errors.RateLimitedError(undefined, { retryAfterSeconds: 7 })));
    expect(limited).toMatchObject({ status: 429, retryAfterSeconds: 7 });
  });

  it('cross as internal_error when they are not ours, or not readable', () => {
    expect(serializeError(new TypeError('secret'))).toMatchObject({ kind: 'internal', code: 'internal_error' });
    for (const odd of [null, {}, { kind: 'toString', code: 'x', error: 'y' }, 'text']) {
      expect(deserializeError(odd)).toMatchObject({ status: 500, code: 'internal_error' });
    }
  });

  it.each([
    [new BadRequestException('secret details'), 400, 'bad_request'],
    [Object.assign(new Error('x'), { code: 'ECONNREFUSED' }), 503, 'service_unavailable'],
    [Object.assign(new Error('x'), { status: 413, expose: true }), 413, 'payload_too_large'],
    [Object.assign(new Error('x'), { status: 404 }), 500, 'internal_error'],
    [new URIError('x'), 404, 'not_found'],
    ['thrown text', 500, 'internal_error'],
    [undefined, 500, 'internal_error'],
  ])('are made of whatever was thrown: %s', (thrown, status, code) => {
    const error = toDomainError(thrown);
    expect(error).toBeInstanceOf(DomainError);
    expect([error.status, error.code]).toEqual([status, code]);
    expect(error.error).not.toContain('secret');
  });
});
