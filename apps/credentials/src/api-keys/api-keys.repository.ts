import { Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { Tenants, type TenantTransaction } from '@rmm/persistence';
import { NotFoundError } from '@rmm/service-kit';
import { ApiKey } from './api-key.entity.js';
import type { ListApiKeysDto } from './dto/list-api-keys.dto.js';

/** Every column but the hash. */
const COLUMNS = `id, partner_id AS "partnerId", org_id AS "orgId", name, key_prefix AS "keyPrefix", scopes,
  expires_at AS "expiresAt", rate_limit AS "rateLimit", status, source, principal_id AS "principalId",
  created_by AS "createdBy", last_used_at AS "lastUsedAt", usage_count AS "usageCount",
  created_at AS "createdAt", updated_at AS "updatedAt"`;

/** The stored status, or `expired` once `expires_at` has passed. */
const STATUS = `CASE WHEN status = 'active' AND expires_at <= now() THEN 'expired' ELSE status END`;
const FILTER = `($1::uuid IS NULL OR org_id = $1) AND ($2::text IS NULL OR ${STATUS} = $2)`;

@Injectable()
export class ApiKeysRepository {
  constructor(private readonly tenants: Tenants) {}

  /** A page, newest first, and how many there are in all. */
  async list(caller: UserCaller, query: ListApiKeysDto): Promise<{ rows: ApiKey[]; total: number }> {
    const filter = [query.orgId ?? null, query.status ?? null];
    const [rows, [count]] = await Promise.all([
      this.tenants.read<ApiKey>(
        caller,
        `SELECT ${COLUMNS} FROM api_key WHERE ${FILTER} ORDER BY created_at DESC, id DESC LIMIT $3 OFFSET $4`,
        [...filter, query.limit, (query.page - 1) * query.limit],
      ),
      this.tenants.read<{ total: number }>(
        caller,
        `SELECT count(*)::int AS total FROM api_key WHERE ${FILTER}`,
        filter,
      ),
    ]);
    return { rows, total: count?.total ?? 0 };
  }

  /** @throws NotFoundError */
  async get(caller: UserCaller, id: string): Promise<ApiKey> {
    const [row] = await this.tenants.read<ApiKey>(caller, `SELECT ${COLUMNS} FROM api_key WHERE id = $1`, [id]);
    if (!row) throw new NotFoundError('API key');
    return row;
  }

  async insert(tx: TenantTransaction, row: Partial<ApiKey>): Promise<ApiKey> {
    const [inserted] = await tx.query<ApiKey>(
      `INSERT INTO api_key (partner_id, org_id, name, key_prefix, key_hash, scopes, expires_at, rate_limit, created_by)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) RETURNING ${COLUMNS}`,
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
      ],
    );
    if (!inserted) throw new Error('api_key insert returned nothing');
    return inserted;
  }

  /** Locks the row until the transaction ends. @throws NotFoundError */
  async lock(tx: TenantTransaction, id: string): Promise<ApiKey & { keyHash: Buffer }> {
    const [row] = await tx.query<ApiKey & { keyHash: Buffer }>(
      `SELECT ${COLUMNS}, key_hash AS "keyHash" FROM api_key WHERE id = $1 FOR UPDATE`,
      [id],
    );
    if (!row) throw new NotFoundError('API key');
    return row;
  }

  async revoke(tx: TenantTransaction, id: string): Promise<Date> {
    const [row] = await tx.query<{ updatedAt: Date }>(
      `UPDATE api_key SET status = 'revoked', updated_at = now() WHERE id = $1 RETURNING updated_at AS "updatedAt"`,
      [id],
    );
    if (!row) throw new NotFoundError('API key');
    return row.updatedAt;
  }
}
