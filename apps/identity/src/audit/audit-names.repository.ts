import { Injectable } from '@nestjs/common';
import { randomBytes } from 'node:crypto';
import type { UserCaller } from '@rmm/access';
import { TenantDatabase, type SqlExecutor } from '@rmm/persistence';
import type { AuditNameSalt } from './audit-name-salt.entity.js';
import type { AuditNameRow } from './audit-name.entity.js';

export type AuditName = Pick<AuditNameRow, 'orgId' | 'pseudonym' | 'name'>;
export type AuditedOrganization = Pick<AuditNameSalt, 'orgId' | 'partnerId'>;

const SALT_BYTES = 32;

/** Names in the entries of organizations, by the pseudonyms that are sealed. @see docs/reference/audit.md#names */
@Injectable()
export class AuditNamesRepository {
  constructor(private readonly tenants: TenantDatabase) {}

  /** Returns the organizations that are erased, or about to be. */
  async listErased(tx: SqlExecutor, orgIds: readonly string[]): Promise<Set<string>> {
    const rows = await tx.query<{ orgId: string }>(
      'SELECT org_id AS "orgId" FROM organization_erasure WHERE org_id = ANY (:orgIds::uuid[])',
      { orgIds },
    );
    return new Set(rows.map(({ orgId }) => orgId));
  }

  /** Returns the salts of organizations; the first entry of one creates it. */
  async ensureSalts(tx: SqlExecutor, organizations: readonly AuditedOrganization[]): Promise<Map<string, Buffer>> {
    const orgIds = organizations.map(({ orgId }) => orgId);
    await tx.query(
      `INSERT INTO audit_name_salt (org_id, partner_id, salt)
       SELECT n.org_id, n.partner_id, decode(n.salt, 'hex')
       FROM unnest(:orgIds::uuid[], :partnerIds::uuid[], :salts::text[]) AS n(org_id, partner_id, salt)
       ORDER BY n.org_id ON CONFLICT (org_id) DO NOTHING`,
      {
        orgIds,
        partnerIds: organizations.map(({ partnerId }) => partnerId),
        salts: organizations.map(() => randomBytes(SALT_BYTES).toString('hex')),
      },
    );
    return this.listSalts(tx, orgIds);
  }

  async listSalts(tx: SqlExecutor, orgIds: readonly string[]): Promise<Map<string, Buffer>> {
    const rows = await tx.query<Pick<AuditNameSalt, 'orgId' | 'salt'>>(
      'SELECT org_id AS "orgId", salt FROM audit_name_salt WHERE org_id = ANY (:orgIds::uuid[])',
      { orgIds },
    );
    return new Map(rows.map(({ orgId, salt }) => [orgId, salt]));
  }

  /** Stores names that are not stored yet. */
  async insert(tx: SqlExecutor, names: readonly (AuditName & AuditedOrganization)[]): Promise<void> {
    if (names.length === 0) return;
    await tx.query(
      `INSERT INTO audit_name (org_id, pseudonym, partner_id, name)
       SELECT * FROM unnest(:orgIds::uuid[], :pseudonyms::text[], :partnerIds::uuid[], :names::text[])
       ORDER BY 1, 2 ON CONFLICT (org_id, pseudonym) DO NOTHING`,
      {
        orgIds: names.map(({ orgId }) => orgId),
        pseudonyms: names.map(({ pseudonym }) => pseudonym),
        partnerIds: names.map(({ partnerId }) => partnerId),
        names: names.map(({ name }) => name),
      },
    );
  }

  /** Returns the names that are stored, of organizations the caller may access or, with the worker login, of all. */
  list(
    source: UserCaller | SqlExecutor,
    orgIds: readonly string[],
    pseudonyms: readonly string[],
  ): Promise<AuditName[]> {
    const sql = `
      SELECT org_id AS "orgId", pseudonym, name FROM audit_name
       WHERE org_id = ANY (:orgIds::uuid[]) AND pseudonym = ANY (:pseudonyms::text[])`;
    const params = { orgIds, pseudonyms };
    return 'query' in source ? source.query<AuditName>(sql, params) : this.tenants.read<AuditName>(source, sql, params);
  }
}
