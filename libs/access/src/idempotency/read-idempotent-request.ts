import { createHash } from 'node:crypto';
import { InvalidIdempotencyKey } from '@rmm/persistence';
import type { IdempotentRequest } from '@rmm/service-kit';
import type { AccessRequest } from '../callers/access-request.js';
import type { Caller } from '../callers/caller.js';

const VISIBLE_ASCII = /^[\x21-\x7e]{1,255}$/;

/** Reads the key of a request; null when it has none. @throws InvalidIdempotencyKey */
export function readIdempotentRequest(request: AccessRequest): IdempotentRequest | null {
  const { 'idempotency-key': one, 'x-idempotency-key': other } = request.headers;
  const key = one ?? other;
  if (key === undefined) return null;
  if (typeof key !== 'string' || !VISIBLE_ASCII.test(key)) throw new InvalidIdempotencyKey();
  if (one !== undefined && other !== undefined && one !== other) throw new InvalidIdempotencyKey();
  const { caller, method, pathname, rawBody } = request;
  if (!caller) throw new Error('An idempotent route needs an authenticated caller');
  const { partnerId, orgId } = caller;
  const callerId = callerOf(caller);
  const identity = [callerId, partnerId, orgId, method, pathname, key];
  return {
    id: sha256(JSON.stringify(identity)),
    callerId,
    bodyHash: sha256(rawBody ?? ''),
    partnerId,
    orgId,
    replayed: false,
  };
}

/** A rotated key is the same caller: its principal counts, where it has one. */
function callerOf(caller: Caller): string {
  if ('principalId' in caller && caller.principalId !== null) return `principal:${caller.principalId}`;
  return `${caller.actor.type}:${caller.actor.id}`;
}

const sha256 = (text: string | Buffer): string => createHash('sha256').update(text).digest('hex');
