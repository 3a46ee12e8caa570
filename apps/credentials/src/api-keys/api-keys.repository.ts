import { Injectable } from '@nestjs/common';
import { Any, Not } from 'typeorm';
import type { UserCaller } from '@rmm/access';
import {
  TenantDatabase,
  TenantRepository,
  WorkerDatabase,
  type PageRows,
  type TenantTransaction,
  type WorkerTransaction,
} from '@rmm/persistence';
import { ApiKey } from './api-key.entity.js';
import { ApiKeyNotFound } from './api-key.errors.js';
import type { ListApiKeysDto } from './dto/list-api-keys.dto.js';

/** What caches and look-ups identify a key by. */
const HASHES = ['keyHash', 'previousKeyHash'] as const;

/** The stored status, or `expired` once `expires_at` has passed. */
const CURRENT_STATUS = `CASE WHEN apiKey.status = 'active' AND apiKey.expiresAt <= now() THEN 'expired' ELSE apiKey.status END`;

export type NewApiKey = Pick<
  ApiKey,
  'partnerId' | 'orgId' | 'name' | 'keyPrefix' | 'keyHash' | 'scopes' | 'expiresAt' | 'rateLimit' | 'createdBy'
> &
  Partial<Pick<ApiKey, 'sourceCidrs' | 'expiryReminders' | 'principalId'>>;

export type ApiKeyChanges = Partial<Pick<ApiKey, 'name' | 'scopes' | 'rateLimit' | 'sourceCidrs' | 'expiryReminders'>>;

/** A key that expires within `days` and whose creator is to be reminded. */
export type ExpiringKey = Pick<ApiKey, 'id' | 'partnerId' | 'orgId' | 'name' | 'keyPrefix'> & {
  createdBy: string;
  expiresAt: Date;
  days: number;
};

@Injectable()
export class ApiKeysRepository extends TenantRepository<ApiKey> {
  constructor(
    tenants: TenantDatabase,
    private readonly worker: WorkerDatabase,
  ) {
    super(tenants, ApiKey, () => new ApiKeyNotFound(), { ownership: 'organization' });
  }

  /** Lists a page, newest first. */
  list(caller: UserCaller, { orgId, status, ...page }: ListApiKeysDto): Promise<PageRows<ApiKey>> {
    const conditions = [status && { sql: `${CURRENT_STATUS} = :status`, params: { status } }];
    return this.listPage(caller, { where: { orgId }, conditions, page });
  }

  /** @throws ApiKeyNotFound */
  get(caller: UserCaller, id: string): Promise<ApiKey> {
    return this.getOne(caller, { where: { id } });
  }

  create(tx: TenantTransaction, key: NewApiKey): Promise<ApiKey> {
    return this.insert(tx, { ...key, source: key.principalId ? 'service_principal' : 'manual' });
  }

  /** Locks the row until the transaction ends. @throws ApiKeyNotFound */
  lock(tx: TenantTransaction, id: string): Promise<ApiKey> {
    return this.getOne(tx, { where: { id }, hidden: HASHES, lock: 'FOR UPDATE' });
  }

  /** Locks the keys of a principal that are stored as active. */
  lockActiveOfPrincipal(tx: TenantTransaction, principalId: string): Promise<ApiKey[]> {
    const where = { principalId, status: 'active' as const };
    return this.findMany(tx, { where, hidden: HASHES, sort: { id: 'ASC' }, lock: 'FOR UPDATE' });
  }

  /** Finds the active key of a principal, or the newest one when none is active. */
  async findNewestOfPrincipal(tx: TenantTransaction, principalId: string): Promise<ApiKey | null> {
    const sort = { createdAt: 'DESC', id: 'DESC' } as const;
    const active = await this.findOne(tx, { where: { principalId, status: 'active' }, sort });
    return active ?? this.findOne(tx, { where: { principalId }, sort });
  }

  change(tx: TenantTransaction, id: string, changes: ApiKeyChanges): Promise<ApiKey> {
    return this.updateOne(tx, { id }, changes);
  }

  /** Replaces the key and resets its usage counters; the previous key works for `overlapSeconds` more. */
  rotate(
    tx: TenantTransaction,
    id: string,
    { overlapSeconds, ...next }: Pick<ApiKey, 'keyPrefix' | 'keyHash'> & { overlapSeconds: number },
  ): Promise<ApiKey> {
    const overlaps = overlapSeconds > 0;
    const changes = {
      ...next,
      generation: () => 'generation + 1',
      usageCount: '0',
      lastUsedAt: null,
      previousKeyHash: overlaps ? () => 'key_hash' : null,
      previousValidUntil: overlaps ? () => 'now() + make_interval(secs => :overlapSeconds)' : null,
    };
    return this.updateOne(tx, { id }, changes, overlaps ? { overlapSeconds } : {});
  }

  /** Revokes keys, their predecessors included. @returns those that were not revoked before */
  revoke(tx: TenantTransaction, ids: readonly string[]): Promise<ApiKey[]> {
    const ended = { status: 'revoked', previousKeyHash: null, previousValidUntil: null } as const;
    return this.update(tx, { id: Any(ids), status: Not('revoked') }, ended);
  }

  /** Makes a service principal the owner of a key. */
  assignToPrincipal(tx: TenantTransaction, id: string, principalId: string, scopes: string[]): Promise<ApiKey> {
    return this.updateOne(tx, { id }, { principalId, source: 'service_principal', scopes });
  }

  /**
   * Stores the status of keys that have expired: of those given, or of all for null. In SQL because it locks in order of
   * id and leaves rows that another replica has locked to that replica.
   */
  markExpired(tx: WorkerTransaction, keyIds: readonly string[] | null, limit: number): Promise<ApiKey[]> {
    return tx.query<ApiKey>(
      `UPDATE api_key SET status = 'expired', previous_key_hash = NULL, previous_valid_until = NULL, updated_at = now()
       WHERE id IN (
         SELECT id FROM api_key
         WHERE status = 'active' AND expires_at <= now() AND (:keyIds::uuid[] IS NULL OR id = ANY (:keyIds))
         ORDER BY id LIMIT :limit FOR UPDATE SKIP LOCKED
       )
       RETURNING id, name, partner_id AS "partnerId", org_id AS "orgId", key_prefix AS "keyPrefix",
         key_hash AS "keyHash", expires_at AS "expiresAt"`,
      { keyIds, limit },
    );
  }

  /** Deletes the hashes of previous keys whose overlap has ended. */
  async deleteEndedPreviousKeys(): Promise<void> {
    await this.worker.query(
      'UPDATE api_key SET previous_key_hash = NULL, previous_valid_until = NULL WHERE previous_valid_until <= now()',
    );
  }

  /**
   * Finds keys for which a reminder is due, nearest end first. Each key gets the nearest reminder only; a key created
   * after the time of a reminder gets none for it.
   * @param reminderDays days before the end
   */
  findExpiring(reminderDays: readonly number[], limit: number): Promise<ExpiringKey[]> {
    return this.worker.query<ExpiringKey>(
      `SELECT k.id, k.partner_id AS "partnerId", k.org_id AS "orgId", k.name, k.key_prefix AS "keyPrefix",
         k.created_by AS "createdBy", k.expires_at AS "expiresAt", due.days
       FROM api_key k
       CROSS JOIN LATERAL (
         SELECT days FROM unnest(:reminderDays::integer[]) AS stage(days)
         WHERE now() >= k.expires_at - make_interval(days => days)
           AND k.created_at < k.expires_at - make_interval(days => days)
         ORDER BY days LIMIT 1
       ) due
       WHERE k.status = 'active' AND k.expires_at BETWEEN now() AND now() + interval '14 days'
         AND k.expiry_reminders AND k.created_by IS NOT NULL
         AND (k.reminded_at IS NULL OR k.reminded_at < k.expires_at - make_interval(days => due.days))
       ORDER BY k.expires_at LIMIT :limit`,
      { reminderDays, limit },
    );
  }

  async setReminded(id: string): Promise<void> {
    await this.worker.query('UPDATE api_key SET reminded_at = now() WHERE id = :id', { id });
  }
}
