import { Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { TenantDatabase, isUniqueViolation, type TenantTransaction } from '@rmm/persistence';
import { NotFoundError, type PageQueryDto } from '@rmm/service-kit';
import { newestPage } from '../newest-page.js';
import { PrincipalNameTaken } from './partner-principal.errors.js';
import type { PartnerPrincipalKey } from './partner-principal-key.entity.js';
import type { PartnerPrincipal } from './partner-principal.entity.js';

const COLUMNS = `id, partner_id AS "partnerId", name, description, status, scopes, expires_at AS "expiresAt",
  source_cidrs AS "sourceCidrs", created_by AS "createdBy", created_at AS "createdAt", updated_at AS "updatedAt"`;
const LISTED = {
  table: 'partner_principal',
  columns: COLUMNS,
  filter: '($1::uuid IS NULL OR partner_id = $1)',
};
const KEY_COLUMNS = `id, principal_id AS "principalId", partner_id AS "partnerId", name, key_prefix AS "keyPrefix",
  status, expires_at AS "expiresAt", rate_limit AS "rateLimit", last_used_at AS "lastUsedAt",
  revoked_at AS "revokedAt", rotated_from_id AS "rotatedFromId", created_by AS "createdBy", created_at AS "createdAt"`;

@Injectable()
export class PartnerPrincipalsRepository {
  constructor(private readonly tenants: TenantDatabase) {}

  /** False for a foreign partner as for none. */
  async seesPartner(caller: UserCaller, partnerId: string): Promise<boolean> {
    const sql = 'SELECT 1 FROM partner_directory WHERE partner_id = $1';
    return (await this.tenants.read(caller, sql, [partnerId])).length > 0;
  }

  list(
    caller: UserCaller,
    partnerId: string | null,
    page: PageQueryDto,
  ): Promise<{ rows: PartnerPrincipal[]; total: number }> {
    return newestPage(this.tenants, caller, LISTED, [partnerId], page);
  }

  /** @throws NotFoundError */
  async get(caller: UserCaller, id: string): Promise<PartnerPrincipal> {
    const [row] = await this.tenants.read<PartnerPrincipal>(
      caller,
      `SELECT ${COLUMNS} FROM partner_principal WHERE id = $1`,
      [id],
    );
    if (!row) throw new NotFoundError('Partner service principal');
    return row;
  }

  /** Oldest first, whatever their state. */
  listKeys(caller: UserCaller, principalIds: readonly string[]): Promise<PartnerPrincipalKey[]> {
    return this.tenants.read<PartnerPrincipalKey>(
      caller,
      `SELECT ${KEY_COLUMNS} FROM partner_principal_key WHERE principal_id = ANY($1::uuid[]) ORDER BY created_at, id`,
      [principalIds],
    );
  }

  /** @throws PrincipalNameTaken */
  async insert(tx: TenantTransaction, row: Partial<PartnerPrincipal>): Promise<PartnerPrincipal> {
    try {
      const [inserted] = await tx.query<PartnerPrincipal>(
        `INSERT INTO partner_principal (partner_id, name, description, scopes, expires_at, source_cidrs, created_by)
         VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING ${COLUMNS}`,
        [row.partnerId, row.name, row.description, row.scopes, row.expiresAt, row.sourceCidrs, row.createdBy],
      );
      if (!inserted) throw new Error('partner_principal insert returned nothing');
      return inserted;
    } catch (error) {
      throw nameTakenOr(error);
    }
  }

  /** Writes everything that may change. @throws PrincipalNameTaken */
  async update(tx: TenantTransaction, row: PartnerPrincipal): Promise<PartnerPrincipal> {
    try {
      const [updated] = await tx.query<PartnerPrincipal>(
        `UPDATE partner_principal SET name = $2, description = $3, status = $4, scopes = $5, expires_at = $6,
           source_cidrs = $7, updated_at = now()
         WHERE id = $1 RETURNING ${COLUMNS}`,
        [row.id, row.name, row.description, row.status, row.scopes, row.expiresAt, row.sourceCidrs],
      );
      if (!updated) throw new Error('partner_principal update returned nothing');
      return updated;
    } catch (error) {
      throw nameTakenOr(error);
    }
  }

  /** Holds the principal still while it changes or a key is issued, rotated or revoked. @throws NotFoundError */
  async lock(tx: TenantTransaction, id: string): Promise<PartnerPrincipal> {
    const [row] = await tx.query<PartnerPrincipal>(
      `SELECT ${COLUMNS} FROM partner_principal WHERE id = $1 FOR UPDATE`,
      [id],
    );
    if (!row) throw new NotFoundError('Partner service principal');
    return row;
  }

  async insertKey(tx: TenantTransaction, row: Partial<PartnerPrincipalKey>): Promise<PartnerPrincipalKey> {
    const [inserted] = await tx.query<PartnerPrincipalKey>(
      `INSERT INTO partner_principal_key
         (principal_id, partner_id, name, key_prefix, key_hash, expires_at, rate_limit, created_by, rotated_from_id)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) RETURNING ${KEY_COLUMNS}`,
      [
        row.principalId,
        row.partnerId,
        row.name,
        row.keyPrefix,
        row.keyHash,
        row.expiresAt,
        row.rateLimit,
        row.createdBy,
        row.rotatedFromId ?? null,
      ],
    );
    if (!inserted) throw new Error('partner_principal_key insert returned nothing');
    return inserted;
  }

  /** @throws NotFoundError */
  async lockKey(tx: TenantTransaction, principalId: string, keyId: string): Promise<PartnerPrincipalKey> {
    const [row] = await tx.query<PartnerPrincipalKey>(
      `SELECT ${KEY_COLUMNS}, key_hash AS "keyHash" FROM partner_principal_key
       WHERE id = $1 AND principal_id = $2 FOR UPDATE`,
      [keyId, principalId],
    );
    if (!row) throw new NotFoundError('Partner service principal key');
    return row;
  }

  /** All keys of a locked principal with their hashes, oldest first. */
  lockedKeys(tx: TenantTransaction, principalId: string): Promise<PartnerPrincipalKey[]> {
    return tx.query<PartnerPrincipalKey>(
      `SELECT ${KEY_COLUMNS}, key_hash AS "keyHash" FROM partner_principal_key
       WHERE principal_id = $1 ORDER BY created_at, id`,
      [principalId],
    );
  }

  async revokeKey(tx: TenantTransaction, keyId: string): Promise<void> {
    await tx.query(`UPDATE partner_principal_key SET status = 'revoked', revoked_at = now() WHERE id = $1`, [keyId]);
  }
}

const nameTakenOr = (error: unknown): unknown =>
  isUniqueViolation(error, 'partner_principal_name') ? new PrincipalNameTaken(undefined, { cause: error }) : error;
