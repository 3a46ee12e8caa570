import { Injectable } from '@nestjs/common';
import type { OrganizationSecurity, PartnerSecurity } from '@rmm/contracts';
import { TenantDatabase, TenantRepository, type SqlExecutor, type TenantTransaction } from '@rmm/persistence';
import { NotFoundError } from '@rmm/service-kit';
import type { UserMembership } from '../users/user.types.js';
import { UsersRepository } from '../users/users.repository.js';
import { OrganizationSecurityPolicy } from './organization-security-policy.entity.js';
import { allows } from './security.policy.js';

/** The members a change affects, and the policies that would apply to them. */
export interface AffectedMembers {
  partnerId: string;
  partnerPolicy: PartnerSecurity;
  /** Absent: the partner's own members and those of all its organizations. */
  organization?: { orgId: string; policy: PartnerSecurity };
}

export interface LockedOutUsers {
  count: number;
  /** True when there are more than `count`. */
  countCapped: boolean;
}

/** Counting stops here. */
const MAX_COUNT = 1_000;

/** Advisory lock of a partner's policies. */
const lockKey = (partnerId: string): string => `hashtextextended('rmm.identity.policy.' || ${partnerId}, 0)`;

/** An organization's new policy when it is the one that changes, else the stored one. Deleted ones have no members. */
const organizationAllows = (method: 'totp' | 'sms', parameter: string): string =>
  `CASE WHEN :orgId::uuid IS NULL THEN coalesce((o.settings #>> '{security,allowedMfaMethods,${method}}')::boolean, TRUE)
     ELSE ${parameter}::boolean END`;

/** One statement, since it checks every member of a partner. */
const LOCKED_OUT = `
  WITH member AS (
    SELECT pm.user_id, :totp::boolean AS totp, :sms::boolean AS sms
      FROM partner_membership pm WHERE pm.partner_id = :partnerId AND :orgId::uuid IS NULL
    UNION ALL
    SELECT om.user_id, :totp AND ${organizationAllows('totp', ':organizationTotp')},
        :sms AND ${organizationAllows('sms', ':organizationSms')}
      FROM organization_membership om
      LEFT JOIN organization_security_policy o ON o.org_id = om.org_id
      LEFT JOIN organization_directory d ON d.org_id = om.org_id
      WHERE om.partner_id = :partnerId AND (:orgId::uuid IS NULL OR om.org_id = :orgId) AND d.deleted IS NOT TRUE
  )
  SELECT count(*)::int AS count FROM (
    SELECT DISTINCT m.user_id FROM member m JOIN user_account u ON u.id = m.user_id
    WHERE u.status = 'active' AND u.mfa_enabled
      AND NOT EXISTS (SELECT FROM passkey k WHERE k.user_id = u.id)
      AND NOT (m.totp AND (u.mfa_method = 'totp' OR EXISTS (SELECT FROM totp_factor t WHERE t.user_id = u.id)))
      AND NOT (m.sms AND u.mfa_method = 'sms')
    LIMIT ${MAX_COUNT + 1}
  ) locked_out`;

/** Security policies of organizations, and the users a policy would lock out. */
@Injectable()
export class SecurityPoliciesRepository extends TenantRepository<OrganizationSecurityPolicy> {
  constructor(
    tenants: TenantDatabase,
    private readonly users: UsersRepository,
  ) {
    super(tenants, OrganizationSecurityPolicy, () => new NotFoundError('Organization'));
  }

  /** Lists the memberships of a user, in whatever tenants; under the worker login. */
  async listMemberships(worker: SqlExecutor, userId: string): Promise<UserMembership[]> {
    return (await this.users.findById(worker, userId))?.memberships ?? [];
  }

  /**
   * Adds an organization that is about to be created to the directory, which refuses it until provisioning publishes it.
   * A policy refers to that row. Under the worker login.
   */
  async reserveOrganization(worker: SqlExecutor, { orgId, partnerId }: { orgId: string; partnerId: string }) {
    await worker.query(
      `INSERT INTO organization_directory (org_id, partner_id, status, version) VALUES (:orgId, :partnerId, 'unknown', 0)
       ON CONFLICT (org_id) DO NOTHING`,
      { orgId, partnerId },
    );
  }

  /** Returns the policy of an organization; version 0 when none was ever set. */
  async find(tx: TenantTransaction, orgId: string): Promise<{ security: OrganizationSecurity; version: number }> {
    const policy = await this.findOne(tx, { where: { orgId } });
    return { security: policy?.settings.security ?? {}, version: policy?.version ?? 0 };
  }

  /** @returns the new version; null when the organization belongs to another partner */
  async save(
    tx: TenantTransaction,
    { orgId, partnerId, security }: { orgId: string; partnerId: string; security: OrganizationSecurity },
  ): Promise<number | null> {
    try {
      const [row] = await tx.query<{ version: string }>(
        `INSERT INTO organization_security_policy AS p (org_id, partner_id, settings)
         VALUES (:orgId, :partnerId, :settings)
         ON CONFLICT (org_id) DO UPDATE
           SET settings = excluded.settings, version = p.version + 1, updated_at = now()
           WHERE p.partner_id = excluded.partner_id
         RETURNING version`,
        { orgId, partnerId, settings: JSON.stringify({ security }) },
      );
      return row ? Number(row.version) : null;
    } catch (error) {
      // Row-level security refuses to update the row of another partner.
      if (error instanceof Error && 'code' in error && error.code === INSUFFICIENT_PRIVILEGE) return null;
      throw error;
    }
  }

  /** Counts enrolled users who would have no usable factor left; recovery codes do not count as one. */
  async countLockedOut(
    tx: TenantTransaction,
    { partnerId, partnerPolicy, organization }: AffectedMembers,
  ): Promise<LockedOutUsers> {
    const [row] = await tx.query<{ count: number }>(LOCKED_OUT, {
      partnerId,
      totp: allows(partnerPolicy, 'totp'),
      sms: allows(partnerPolicy, 'sms'),
      orgId: organization?.orgId ?? null,
      organizationTotp: organization ? allows(organization.policy, 'totp') : null,
      organizationSms: organization ? allows(organization.policy, 'sms') : null,
    });
    const found = row?.count ?? 0;
    return { count: Math.min(found, MAX_COUNT), countCapped: found > MAX_COUNT };
  }

  /** Returns true when an organization of the partner, whatever the partner allows, excludes each of these methods. */
  async excludesAll(tx: TenantTransaction, partnerId: string, methods: readonly string[]): Promise<boolean> {
    const [row] = await tx.query<{ found: boolean }>(
      `SELECT EXISTS (
         SELECT FROM organization_security_policy o
         LEFT JOIN organization_directory d ON d.org_id = o.org_id
         WHERE o.partner_id = :partnerId AND d.deleted IS NOT TRUE
           AND NOT EXISTS (
             SELECT FROM unnest(:methods::text[]) AS m(method)
             WHERE coalesce((o.settings #>> ARRAY['security', 'allowedMfaMethods', m.method])::boolean, TRUE))
       ) AS found`,
      { partnerId, methods: [...methods] },
    );
    return row?.found ?? false;
  }

  /** Locks the policies of a partner and its organizations for a change, until the transaction ends. */
  async lockForChange(tx: SqlExecutor, partnerId: string): Promise<void> {
    await tx.query(`SELECT pg_advisory_xact_lock(${lockKey(':partnerId')})`, { partnerId });
  }

  /** Lets no policy that applies to a user change until the transaction ends; runs under the worker login. */
  async lockPoliciesOf(tx: SqlExecutor, userId: string): Promise<void> {
    await tx.query(
      `SELECT pg_advisory_xact_lock_shared(${lockKey('partner_id')}) FROM (
         SELECT partner_id FROM partner_membership WHERE user_id = :userId
         UNION SELECT partner_id FROM organization_membership WHERE user_id = :userId ORDER BY 1
       ) partners`,
      { userId },
    );
  }
}

/** PostgreSQL's code of a statement that row-level security refuses. */
const INSUFFICIENT_PRIVILEGE = '42501';
