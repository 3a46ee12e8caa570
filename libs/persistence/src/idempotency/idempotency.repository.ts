import { Injectable } from '@nestjs/common';
import type { IdempotentRequest } from '@rmm/service-kit';
import { tryLock } from '../database/advisory-lock.js';
import type { SqlExecutor } from '../database/sql-executor.js';

/** A response and how long it is kept, in seconds from now. */
export interface NewResponse {
  response: string | null;
  ttlSeconds: number;
  /** For responses that contain a key: erased after this time, while the record of the request stays. */
  responseTtlSeconds?: number;
}

export interface StoredResponse {
  bodyHash: string;
  /** Null when the response was too large, or contained a key and was erased. */
  response: string | null;
}

/** Responses that are stored for a caller. */
export interface StoredUsage {
  responses: number;
  bytes: number;
  /** Seconds until the oldest response expires, at least 1. */
  freeAfterSeconds: number;
}

const FIND = `
  SELECT body_hash AS "bodyHash",
    CASE WHEN response_expires_at <= statement_timestamp() THEN NULL ELSE response END AS response
  FROM idempotency_record WHERE id = :id AND expires_at > statement_timestamp()`;

/** The size of a text is known without decompressing it. */
const USAGE = `
  SELECT count(*)::int AS responses, coalesce(sum(octet_length(response)), 0)::int AS bytes,
    greatest(1, ceil(extract(epoch FROM min(expires_at) - statement_timestamp())))::int AS "freeAfterSeconds"
  FROM idempotency_record WHERE caller_id = :callerId AND expires_at > statement_timestamp()`;

const SAVE = `
  INSERT INTO idempotency_record (id, partner_id, org_id, caller_id, body_hash, response, expires_at, response_expires_at)
  VALUES (:id, :partnerId, :orgId, :callerId, :bodyHash, :response, now() + make_interval(secs => :ttlSeconds),
    now() + make_interval(secs => :responseTtlSeconds::double precision))
  ON CONFLICT (id) DO UPDATE SET body_hash = excluded.body_hash, response = excluded.response,
    created_at = now(), expires_at = excluded.expires_at, response_expires_at = excluded.response_expires_at`;

const PURGE = `
  DELETE FROM idempotency_record WHERE id IN (
    SELECT id FROM idempotency_record WHERE expires_at <= now() ORDER BY expires_at LIMIT :limit
    FOR UPDATE SKIP LOCKED)
  RETURNING 1 AS purged`;

const ERASE_RESPONSES = `
  UPDATE idempotency_record SET response = NULL, response_expires_at = NULL WHERE id IN (
    SELECT id FROM idempotency_record WHERE response_expires_at <= now() ORDER BY response_expires_at LIMIT :limit
    FOR UPDATE SKIP LOCKED)
  RETURNING 1 AS erased`;

/** Responses of requests with an idempotency key, in the table `idempotency_record` of the service. */
@Injectable()
export class IdempotencyRepository {
  /** Locks the key until the transaction ends. @returns false when another transaction has it */
  tryLock(tx: SqlExecutor, { id }: IdempotentRequest): Promise<boolean> {
    return tryLock(tx, `rmm.idempotency.${id}`);
  }

  async find(tx: SqlExecutor, { id }: IdempotentRequest): Promise<StoredResponse | null> {
    const [row] = await tx.query<StoredResponse>(FIND, { id });
    return row ?? null;
  }

  /** Measures what is stored for the caller in the tenant of the transaction. */
  async usage(tx: SqlExecutor, { callerId }: IdempotentRequest): Promise<StoredUsage> {
    const [row] = await tx.query<StoredUsage>(USAGE, { callerId });
    return row ?? { responses: 0, bytes: 0, freeAfterSeconds: 1 };
  }

  /** An expired response of the same key is replaced. */
  async save(
    tx: SqlExecutor,
    { id, partnerId, orgId, callerId, bodyHash }: IdempotentRequest,
    { response, ttlSeconds, responseTtlSeconds }: NewResponse,
  ): Promise<void> {
    const kept = { response, ttlSeconds, responseTtlSeconds: responseTtlSeconds ?? null };
    await tx.query(SAVE, { id, partnerId, orgId, callerId, bodyHash, ...kept });
  }

  /** Erases up to `limit` responses whose own time has passed; the records of their requests stay. @returns how many */
  async eraseResponses(worker: SqlExecutor, limit: number): Promise<number> {
    return (await worker.query(ERASE_RESPONSES, { limit })).length;
  }

  /** Deletes up to `limit` expired responses. @returns how many */
  async purge(worker: SqlExecutor, limit: number): Promise<number> {
    return (await worker.query(PURGE, { limit })).length;
  }
}
