import { Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { TenantDatabase, type TenantTransaction } from '@rmm/persistence';
import { NotFoundError } from '@rmm/service-kit';
import { newestPage } from '../newest-page.js';
import type { HashedApiKey } from './api-key-changes.js';
import type { ApiKey } from './api-key.entity.js';
import type { ListApiKeysDto } from './dto/list-api-keys.dto.js';

/** Every column but the hashes. */
const COLUMNS = `id, partner_id AS "partnerId", org_id AS "orgId", name, key_prefix AS "keyPrefix", scopes,
  source_cidrs AS "sourceCidrs", expires_at AS "expiresAt", expiry_reminders AS "expiryReminders",
  rate_limit AS "rateLimit", status, source, principal_id AS "principalId", created_by AS "createdBy", generation,
  previous_valid_until AS "previousValidUntil", last_used_at AS "lastUsedAt", usage_count AS "usageCount",
  created_at AS "createdAt", updated_at AS "updatedAt"`;
const HASHED = `${COLUMNS}, key_hash AS "keyHash", previous_key_hash AS "previousKeyHash"`;

/** The stored status, or `expired` once `expires_at` has passed. */
const STATUS = `CASE WHEN status = 'active' AND expires_at <= now() THEN 'expired' ELSE status END`;
const LISTED = {
  table: 'api_key',
  columns: COLUMNS,
  filter: `($1::uuid IS NULL OR org_id = $1) AND ($2::text IS NULL OR ${STATUS} = $2)`,
};

export type NewApiKey = Pick<
  ApiKey,
  'partnerId' | 'orgId' | 'name' | 'keyPrefix' | 'keyHash' | 'scopes' | 'expiresAt' | 'rateLimit' | 'createdBy'
> &
  Partial<Pick<ApiKey, 'sourceCidrs' | 'expiryReminders' | 'principalId'>>;

export type ApiKeyPatch = Partial<Pick<ApiKey, 'name' | 'scopes' | 'rateLimit' | 'sourceCidrs' | 'expiryReminders'>>;

@Injectable()
export class ApiKeysRepository {
  constructor(private readonly tenants: TenantDatabase) {}

  /** A page, newest first, and how many there are in all. */
  list(caller: UserCaller, query: ListApiKeysDto): Promise<{ rows: ApiKey[]; total: number }> {
    return newestPage(this.tenants, caller, LISTED, [query.orgId ?? null, query.status ?? null], query);
  }

  /** @throws NotFoundError */
  async get(caller: UserCaller, id: string): Promise<ApiKey> {
    const [row] = await this.tenants.read<ApiKey>(caller, `SELECT ${COLUMNS} FROM api_key WHERE id = $1`, [id]);
    return found(row);
  }

  /** How often the key was used on each day from `from` on; days without use are left out. `day` is `2026-11-21`. */
  usage(caller: UserCaller, id: string, from: string): Promise<{ day: string; count: string }[]> {
    return this.tenants.read(
      caller,
      `SELECT to_char(day, 'YYYY-MM-DD') AS day, count FROM api_key_usage
       WHERE key_id = $1 AND day >= $2::date ORDER BY day`,
      [id, from],
    );
  }

  async insert(tx: TenantTransaction, row: NewApiKey): Promise<HashedApiKey> {
    const { principalId = null } = row;
    const [inserted] = await tx.query<HashedApiKey>(
      `INSERT INTO api_key (partner_id, org_id, name, key_prefix, key_hash, scopes, expires_at, rate_limit, created_by,
         source_cidrs, expiry_reminders, principal_id, source)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12,
         CASE WHEN $12::uuid IS NULL THEN 'manual' ELSE 'service_principal' END) RETURNING ${HASHED}`,
      [
        row.partnerId,
        row.orgId,
        row.name,
        row.keyPrefix,
        row.keyHash,
        row.scopes,
        row.expiresAt,
        row.rateLimit,
        row.createdBy,
        row.sourceCidrs ?? [],
        row.expiryReminders ?? true,
        principalId,
      ],
    );
    if (!inserted) throw new Error('api_key insert returned nothing');
    return inserted;
  }

  /** Locks the row until the transaction ends. @throws NotFoundError */
  async lock(tx: TenantTransaction, id: string): Promise<HashedApiKey> {
    const [row] = await tx.query<HashedApiKey>(`SELECT ${HASHED} FROM api_key WHERE id = $1 FOR UPDATE`, [id]);
    return found(row);
  }

  /** The keys of a principal that are not revoked and not marked expired, locked. */
  lockActiveOf(tx: TenantTransaction, principalId: string): Promise<HashedApiKey[]> {
    return tx.query<HashedApiKey>(
      `SELECT ${HASHED} FROM api_key WHERE principal_id = $1 AND status = 'active' ORDER BY id FOR UPDATE`,
      [principalId],
    );
  }

  /** The key of a principal that is active, else the last one it had. */
  async newestOf(tx: TenantTransaction, principalId: string): Promise<ApiKey | null> {
    const [row] = await tx.query<ApiKey>(
      `SELECT ${COLUMNS} FROM api_key WHERE principal_id = $1
       ORDER BY (status = 'active') DESC, created_at DESC, id DESC LIMIT 1`,
      [principalId],
    );
    return row ?? null;
  }

  async update(tx: TenantTransaction, id: string, patch: ApiKeyPatch): Promise<ApiKey> {
    const { name, scopes, rateLimit, sourceCidrs, expiryReminders } = patch;
    const [row] = await tx.query<ApiKey>(
      `UPDATE api_key SET name = coalesce($2, name), scopes = coalesce($3, scopes),
         rate_limit = coalesce($4, rate_limit), source_cidrs = coalesce($5, source_cidrs),
         expiry_reminders = coalesce($6, expiry_reminders), updated_at = now()
       WHERE id = $1 RETURNING ${COLUMNS}`,
      [id, name ?? null, scopes ?? null, rateLimit ?? null, sourceCidrs ?? null, expiryReminders ?? null],
    );
    return found(row);
  }

  /** The old key ends now, or works on for `overlapSeconds` beside the new one. */
  async rotate(
    tx: TenantTransaction,
    id: string,
    next: { keyPrefix: string; keyHash: Buffer; overlapSeconds: number },
  ): Promise<ApiKey> {
    const [row] = await tx.query<ApiKey>(
      `UPDATE api_key SET key_prefix = $2, key_hash = $3, generation = generation + 1, usage_count = 0,
         last_used_at = NULL, updated_at = now(),
         previous_key_hash = CASE WHEN $4::integer > 0 THEN key_hash END,
         previous_valid_until = CASE WHEN $4::integer > 0 THEN now() + make_interval(secs => $4::integer) END
       WHERE id = $1 RETURNING ${COLUMNS}`,
      [id, next.keyPrefix, next.keyHash, next.overlapSeconds],
    );
    return found(row);
  }

  /** Ends keys, predecessors included. @returns those that were not revoked before, as they now are */
  revoke(tx: TenantTransaction, ids: readonly string[]): Promise<ApiKey[]> {
    return tx.query<ApiKey>(
      `UPDATE api_key SET status = 'revoked', previous_key_hash = NULL, previous_valid_until = NULL, updated_at = now()
       WHERE id = ANY ($1::uuid[]) AND status <> 'revoked' RETURNING ${COLUMNS}`,
      [ids],
    );
  }

  /** Hands a key over to a principal. */
  async assign(tx: TenantTransaction, id: string, principalId: string, scopes: readonly string[]): Promise<ApiKey> {
    const [row] = await tx.query<ApiKey>(
      `UPDATE api_key SET principal_id = $2, source = 'service_principal', scopes = $3, updated_at = now()
       WHERE id = $1 RETURNING ${COLUMNS}`,
      [id, principalId, scopes],
    );
    return found(row);
  }
}

/** @throws NotFoundError */
function found<Row extends ApiKey>(row: Row | undefined): Row {
  if (!row) throw new NotFoundError('API key');
  return row;
}
