import { Injectable } from '@nestjs/common';
import { siteFilter, type UserCaller } from '@rmm/access';
import { TenantDatabase, type SqlExecutor, type TenantTransaction } from '@rmm/persistence';
import { NotFoundError } from '@rmm/service-kit';
import { newestPage } from '../newest-page.js';
import type { ListEnrollmentKeysDto } from './dto/list-enrollment-keys.dto.js';
import type { EnrollmentKey } from './enrollment-key.entity.js';

const COLUMNS = `id, partner_id AS "partnerId", org_id AS "orgId", site_id AS "siteId", name,
  usage_count AS "usageCount", max_usage AS "maxUsage", expires_at AS "expiresAt", created_by AS "createdBy",
  created_at AS "createdAt",
  CASE WHEN expires_at <= now() THEN 'expired' WHEN usage_count >= max_usage THEN 'exhausted' ELSE 'active' END AS status`;
/** What is null does not narrow. */
const LISTED = {
  table: 'enrollment_key',
  columns: COLUMNS,
  filter: `($1::uuid IS NULL OR org_id = $1) AND ($2::boolean IS NULL OR (expires_at <= now()) = $2)
  AND ($3::uuid[] IS NULL OR site_id = ANY($3))`,
};

@Injectable()
export class EnrollmentKeysRepository {
  constructor(private readonly tenants: TenantDatabase) {}

  list(caller: UserCaller, query: ListEnrollmentKeysDto): Promise<{ rows: EnrollmentKey[]; total: number }> {
    const params = [query.orgId ?? null, query.expired ?? null, siteFilter(caller)];
    return newestPage(this.tenants, caller, LISTED, params, query);
  }

  /** @throws NotFoundError */
  async get(caller: UserCaller, id: string): Promise<EnrollmentKey> {
    const rows = await this.tenants.read<EnrollmentKey>(caller, `SELECT ${COLUMNS} FROM enrollment_key WHERE id = $1`, [
      id,
    ]);
    return onlyOne(rows);
  }

  /** The row as it is now; nobody enrolls with it, rotates or deletes it until the transaction ends. @throws NotFoundError */
  async lock(tx: TenantTransaction, id: string): Promise<EnrollmentKey> {
    return onlyOne(
      await tx.query<EnrollmentKey>(`SELECT ${COLUMNS} FROM enrollment_key WHERE id = $1 FOR UPDATE`, [id]),
    );
  }

  /** The partner's cap on lifetimes in minutes, or null. */
  async maxTtlMinutes(db: SqlExecutor, partnerId: string): Promise<number | null> {
    const [row] = await db.query<{ cap: number | null }>(
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

  /** A new generation: what was reserved from the old one is not given back to it. @throws NotFoundError */
  async rotate(
    tx: TenantTransaction,
    id: string,
    to: Pick<EnrollmentKey, 'keyHash' | 'maxUsage' | 'expiresAt'>,
  ): Promise<EnrollmentKey> {
    const rows = await tx.query<EnrollmentKey>(
      `UPDATE enrollment_key SET key_hash = $2, max_usage = $3, expires_at = $4, usage_count = 0,
         generation = generation + 1
       WHERE id = $1 RETURNING ${COLUMNS}`,
      [id, to.keyHash, to.maxUsage, to.expiresAt],
    );
    return onlyOne(rows);
  }

  /** Removes the key. @throws NotFoundError */
  async delete(tx: TenantTransaction, id: string): Promise<void> {
    onlyOne(await tx.query('DELETE FROM enrollment_key WHERE id = $1 RETURNING id', [id]));
  }

  /** Removes what has expired in an organization, within the caller's sites. @returns the ids */
  async deleteExpired(tx: TenantTransaction, caller: UserCaller, orgId: string): Promise<string[]> {
    const rows = await tx.query<{ id: string }>(
      `DELETE FROM enrollment_key
       WHERE org_id = $1 AND expires_at <= now() AND ($2::uuid[] IS NULL OR site_id = ANY($2)) RETURNING id`,
      [orgId, siteFilter(caller)],
    );
    return rows.map((row) => row.id);
  }
}

function onlyOne<Row>([row]: Row[]): Row {
  if (!row) throw new NotFoundError('Enrollment key');
  return row;
}
