import { Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import type { AccessGrant, AccessInOrganizationRequest, AccessResolveRequest, AccessSnapshot } from '@rmm/contracts';
import type { Permission } from '@rmm/permissions';
import { WorkerDatabase, type SqlExecutor } from '@rmm/persistence';
import type { SecuritySettings } from '../mfa/mfa.policy.js';
import { permissionsOfRole } from '../roles/roles.repository.js';

/** Everything that decides about one session, as stored. */
export interface SessionAccess {
  email: string;
  status: AccessSnapshot['userStatus'];
  authEpoch: number;
  mfaEpoch: number;
  passwordChangedAt: number | null;
  hasFactor: boolean;
  everHadFactor: boolean;
  graceGrantedAt: Date | null;
  enrollmentDeadline: Date | null;
  now: Date;
  sessionActive: boolean;
  membershipExists: boolean;
  roleId: string | null;
  roleForcesMfa: boolean;
  orgAccess: 'all' | 'selected' | 'none';
  orgIds: string[];
  siteIds: string[] | null;
  deviceGroupIds: string[] | null;
  partnerStatus: string | null;
  partnerSecurity: SecuritySettings | null;
  organizationSecurity: SecuritySettings | null;
  permissions: Permission[];
  isPlatformAdmin: boolean;
  version: string;
}

/** A session as it was begun, or verified since. */
export interface LiveSession {
  mfa: boolean;
  authEpoch: number;
  mfaEpoch: number;
}

/** A membership of a user with access to an organization; `roleId` is null for a user without any. */
export interface OrganizationGrant extends AccessGrant {
  email: string;
  name: string;
  status: string;
  roleId: string | null;
}

/** The membership of a session, and its user. */
export type MembershipOfUser = Pick<UserCaller, 'userId' | 'scope' | 'partnerId' | 'orgId'>;

/** Permissions and restrictions of a membership. */
export interface StoredAccess {
  permissions: Permission[];
  orgAccess: 'all' | 'selected' | 'none';
  siteIds: string[] | null;
  deviceGroupIds: string[] | null;
}

/**
 * One statement, since every first request of a session waits for it. The version is the first transaction id that is
 * not assigned yet: every later change has a greater one.
 */
const SESSION_ACCESS = `
  SELECT u.email, u.status, u.auth_epoch AS "authEpoch", u.mfa_epoch AS "mfaEpoch",
    floor(extract(epoch FROM u.password_changed_at))::float8 AS "passwordChangedAt",
    u.mfa_enabled AS "hasFactor", u.first_factor_at IS NOT NULL AS "everHadFactor",
    u.mfa_grace_granted_at AS "graceGrantedAt", u.mfa_enrollment_deadline AS "enrollmentDeadline", now() AS now,
    EXISTS (SELECT FROM session_family f WHERE f.id = :sessionId AND f.user_id = u.id
      AND f.revoked_at IS NULL AND f.absolute_expires_at > now()) AS "sessionActive",
    m.role_id IS NOT NULL AS "membershipExists", m.role_id AS "roleId",
    coalesce(r.force_mfa, FALSE) AS "roleForcesMfa", coalesce(m.org_access, 'none') AS "orgAccess",
    coalesce(m.org_ids, '{}') AS "orgIds", m.site_ids AS "siteIds", m.device_group_ids AS "deviceGroupIds",
    p.status AS "partnerStatus", p.settings -> 'security' AS "partnerSecurity",
    o.settings -> 'security' AS "organizationSecurity", u.is_platform_admin AS "isPlatformAdmin",
    ${permissionsOfRole('m.role_id')} AS permissions,
    pg_snapshot_xmax(pg_current_snapshot())::text AS version
  FROM user_account u
  LEFT JOIN LATERAL (
    SELECT pm.role_id, pm.org_access, pm.org_ids, NULL::uuid[] AS site_ids, NULL::uuid[] AS device_group_ids,
        pm.partner_id
      FROM partner_membership pm WHERE :scope = 'partner' AND pm.user_id = u.id AND pm.partner_id = :partnerId
    UNION ALL
    SELECT om.role_id, 'none', '{}', om.site_ids, om.device_group_ids, om.partner_id
      FROM organization_membership om
      WHERE :scope = 'organization' AND om.user_id = u.id AND om.org_id = :orgId AND om.partner_id = :partnerId
    UNION ALL
    SELECT seeded.id, 'all', '{}', NULL, NULL, NULL
      FROM role seeded
      WHERE :scope = 'system' AND u.is_platform_admin AND seeded.system_key = 'platform_admin'
        AND seeded.partner_id IS NULL
  ) m ON TRUE
  LEFT JOIN role r ON r.id = m.role_id
  LEFT JOIN partner p ON p.id = m.partner_id
  LEFT JOIN organization_security_policy o ON o.org_id = :orgId::uuid AND :scope = 'organization'
  WHERE u.id = :userId`;

/** The membership of a session is that of its family: another one of the user does not count. */
const LIVE_SESSION = `
  SELECT mfa, auth_epoch AS "authEpoch", mfa_epoch AS "mfaEpoch" FROM session_family
  WHERE id = :sessionId AND user_id = :userId AND scope = :scope
    AND partner_id IS NOT DISTINCT FROM :partnerId::uuid AND org_id IS NOT DISTINCT FROM :orgId::uuid
    AND revoked_at IS NULL AND absolute_expires_at > now()`;

const ORGANIZATION_GRANTS = `
  SELECT u.email, u.name, u.status, m.role_id AS "roleId", m.scope, m.site_ids AS "siteIds",
    m.device_group_ids AS "deviceGroupIds", ${permissionsOfRole('m.role_id')} AS permissions
  FROM user_account u
  LEFT JOIN LATERAL (
    SELECT pm.role_id, 'partner' AS scope, NULL::uuid[] AS site_ids, NULL::uuid[] AS device_group_ids
      FROM partner_membership pm
      WHERE pm.user_id = u.id AND pm.partner_id = :partnerId
        AND (pm.org_access = 'all' OR (pm.org_access = 'selected' AND :orgId = ANY (pm.org_ids)))
    UNION ALL
    SELECT om.role_id, 'organization', om.site_ids, om.device_group_ids
      FROM organization_membership om
      WHERE om.user_id = u.id AND om.org_id = :orgId AND om.partner_id = :partnerId
    UNION ALL
    SELECT seeded.id, 'system', NULL, NULL
      FROM role seeded
      WHERE u.is_platform_admin AND seeded.system_key = 'platform_admin' AND seeded.partner_id IS NULL
  ) m ON TRUE
  WHERE u.id = :userId`;

/**
 * Reads what users may do, for every service; under the worker login, because the result decides about the tenant. A
 * change that has begun reads it in its own transaction.
 */
@Injectable()
export class AccessRepository {
  constructor(private readonly worker: WorkerDatabase) {}

  /** Returns null for an unknown user. */
  async findSessionAccess(request: AccessResolveRequest): Promise<SessionAccess | null> {
    const { userId, sessionId, scope, partnerId, orgId } = request;
    const [access] = await this.worker.query<SessionAccess>(SESSION_ACCESS, {
      userId,
      sessionId,
      scope,
      partnerId,
      orgId,
    });
    return access ?? null;
  }

  /** Returns null when the session ended or is not one of this user in this membership. */
  async findLiveSession(request: AccessResolveRequest): Promise<LiveSession | null> {
    const { userId, sessionId, scope, partnerId, orgId } = request;
    const params = { userId, sessionId, scope, partnerId, orgId };
    const [session] = await this.worker.query<LiveSession>(LIVE_SESSION, params);
    return session ?? null;
  }

  /**
   * Returns what a user may do in the membership of its session, as stored now; null when it has ended. One statement,
   * since every change of roles and members asks it.
   */
  async findAccess(
    tx: SqlExecutor,
    { userId, scope, partnerId, orgId }: MembershipOfUser,
  ): Promise<StoredAccess | null> {
    const [access] = await tx.query<StoredAccess>(
      `SELECT m.org_access AS "orgAccess", m.site_ids AS "siteIds", m.device_group_ids AS "deviceGroupIds",
         ${permissionsOfRole('m.role_id')} AS permissions
       FROM (
         SELECT role_id, org_access, NULL::uuid[] AS site_ids, NULL::uuid[] AS device_group_ids
           FROM partner_membership
           WHERE :scope = 'partner' AND user_id = :userId AND partner_id = :partnerId
         UNION ALL
         SELECT role_id, 'none', site_ids, device_group_ids FROM organization_membership
           WHERE :scope = 'organization' AND user_id = :userId AND org_id = :orgId AND partner_id = :partnerId
       ) m`,
      { userId, scope, partnerId, orgId },
    );
    return access ?? null;
  }

  /** Lists one row per membership with access to the organization, at least one; none for an unknown user. */
  listOrganizationGrants(
    request: AccessInOrganizationRequest,
    db: SqlExecutor = this.worker,
  ): Promise<OrganizationGrant[]> {
    const { userId, partnerId, orgId } = request;
    return db.query<OrganizationGrant>(ORGANIZATION_GRANTS, { userId, partnerId, orgId });
  }
}
