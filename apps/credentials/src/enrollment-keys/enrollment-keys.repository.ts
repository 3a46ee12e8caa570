import { Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { Tenants, type TenantTransaction } from '@rmm/persistence';
import { NotFoundError } from '@rmm/service-kit';
import type { ListEnrollmentKeysDto } from './dto/list-enrollment-keys.dto.js';
import type { EnrollmentKey } from './enrollment-key.entity.js';

const COLUMNS = `id, partner_id AS "partnerId", org_id AS "orgId", site_id AS "siteId", name,
  usage_count AS "usageCount", max_usage AS "maxUsage", expires_at AS "expiresAt", created_by AS "createdBy",
  created_at AS "createdAt"`;
const FILTER = `($1::uuid IS NULL OR org_id = $1) AND ($2::boolean IS NULL OR (expires_at <= now()) = $2)`;

@Injectable()
export class EnrollmentKeysRepository {
  constructor(private readonly tenants: Tenants) {}

  async list(caller: UserCaller, query: ListEnrollmentKeysDto): Promise<{ rows: EnrollmentKey[]; total: number }> {
    const filter = [query.orgId ?? null, query.expired ?? null];
    const [rows, [count]] = await Promise.all([
      this.tenants.read<EnrollmentKey>(
        caller,
        `SELECT ${COLUMNS} FROM enrollment_key WHERE ${FILTER} ORDER BY created_at DESC, id DESC LIMIT $3 OFFSET $4`,
        [...filter, query.limit, (query.page - 1) * query.limit],
      ),
      this.tenants.read<{ total: number }>(
        caller,
        `SELECT count(*)::int AS total FROM enrollment_key WHERE ${FILTER}`,
        filter,
      ),
    ]);
    return { rows, total: count?.total ?? 0 };
  }

  /** @throws NotFoundError */
  async get(caller: UserCaller, id: string): Promise<EnrollmentKey> {
    const [row] = await this.tenants.read<EnrollmentKey>(
      caller,
      `SELECT ${COLUMNS} FROM enrollment_key WHERE id = $1`,
      [id],
    );
    if (!row) throw new NotFoundError('Enrollment key');
    return row;
  }

  /** The partner's cap on lifetimes in minutes, or null. */
  async maxTtlMinutes(caller: UserCaller, partnerId: string): Promise<number | null> {
    const [row] = await this.tenants.read<{ cap: number | null }>(
      caller,
      'SELECT enrollment_max_ttl_minutes AS cap FROM partner_directory WHERE partner_id = $1',
      [partnerId],
    );
    return row?.cap ?? null;
  }

  async insert(tx: TenantTransaction, row: Partial<EnrollmentKey>): Promise<EnrollmentKey> {
    const [inserted] = await tx.query<EnrollmentKey>(
      `INSERT INTO enrollment_key (partner_id, org_id, site_id, name, key_hash, max_usage, expires_at, created_by)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8) RETURNING ${COLUMNS}`,
      [row.partnerId, row.orgId, row.siteId, row.name, row.keyHash, row.maxUsage, row.expiresAt, row.createdBy],
    );
    if (!inserted) throw new Error('enrollment_key insert returned nothing');
    return inserted;
  }

  /** Removes the key and tells what it was. @throws NotFoundError */
  async delete(tx: TenantTransaction, id: string): Promise<EnrollmentKey> {
    const [row] = await tx.query<EnrollmentKey>(`DELETE FROM enrollment_key WHERE id = $1 RETURNING ${COLUMNS}`, [id]);
    if (!row) throw new NotFoundError('Enrollment key');
    return row;
  }
}
