import { Inject, Injectable } from '@nestjs/common';
import type { AccessSource } from '@rmm/access';
import type { AccessResolveRequest, AccessSnapshot } from '@rmm/contracts';
import { WorkerDatabase } from '@rmm/persistence';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import { sameMembership } from '../members/membership.js';
import { MfaGrace } from '../mfa/mfa-grace.js';
import { judgeMfa, type SecuritySettings } from '../mfa/mfa-policy.js';
import { permissionsOfRole } from '../roles/permissions-sql.js';
import { UsersRepository } from '../users/users.repository.js';

interface AccessRow {
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
  sessionAlive: boolean;
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
  permissions: string[];
  isPlatformAdmin: boolean;
  version: string;
}

/**
 * Everything about one session in one statement: $1 user, $2 family, $3 scope, $4 partner, $5 organization.
 * The version is the first transaction id not yet given out: every change made later has a greater one.
 */
const RESOLVE = `
  select u.email, u.status, u.auth_epoch as "authEpoch", u.mfa_epoch as "mfaEpoch",
    floor(extract(epoch from u.password_changed_at))::float8 as "passwordChangedAt",
    u.mfa_enabled as "hasFactor", u.first_factor_at is not null as "everHadFactor",
    u.mfa_grace_granted_at as "graceGrantedAt", u.mfa_enrollment_deadline as "enrollmentDeadline", now() as now,
    exists (select from session_family f where f.id = $2 and f.user_id = u.id
      and f.revoked_at is null and f.absolute_expires_at > now()) as "sessionAlive",
    m.role_id is not null as "membershipExists", m.role_id as "roleId",
    coalesce(r.force_mfa, false) as "roleForcesMfa", coalesce(m.org_access, 'none') as "orgAccess",
    coalesce(m.org_ids, '{}') as "orgIds", m.site_ids as "siteIds", m.device_group_ids as "deviceGroupIds",
    p.status as "partnerStatus", p.settings -> 'security' as "partnerSecurity",
    o.settings -> 'security' as "organizationSecurity", u.is_platform_admin as "isPlatformAdmin",
    ${permissionsOfRole('m.role_id')} as permissions,
    pg_snapshot_xmax(pg_current_snapshot())::text as version
  from user_account u
  left join lateral (
    select pm.role_id, pm.org_access, pm.org_ids, null::uuid[] as site_ids, null::uuid[] as device_group_ids, pm.partner_id
      from partner_membership pm where $3 = 'partner' and pm.user_id = u.id and pm.partner_id = $4
    union all
    select om.role_id, 'none', '{}', om.site_ids, om.device_group_ids, om.partner_id
      from organization_membership om
      where $3 = 'organization' and om.user_id = u.id and om.org_id = $5 and om.partner_id = $4
    union all
    select seeded.id, 'all', '{}', null, null, null
      from role seeded
      where $3 = 'system' and u.is_platform_admin and seeded.system_key = 'platform_admin' and seeded.partner_id is null
  ) m on true
  left join role r on r.id = m.role_id
  left join partner p on p.id = m.partner_id
  left join organization_security_policy o on o.org_id = $5::uuid and $3 = 'organization'
  where u.id = $1`;

/** Identity's own word on who may do what; the other services ask it by RPC. @see ARCHITECTURE.md 3 */
@Injectable()
export class DatabaseAccessSource implements AccessSource {
  constructor(
    private readonly worker: WorkerDatabase,
    private readonly users: UsersRepository,
    private readonly grace: MfaGrace,
    @Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig,
  ) {}

  async resolve(request: AccessResolveRequest): Promise<AccessSnapshot | null> {
    if (request.opensMfaGrace) await this.openGrace(request);
    const { userId, sessionId, scope, partnerId, orgId } = request;
    const [row] = await this.worker.query<AccessRow>(RESOLVE, [userId, sessionId, scope, partnerId, orgId]);
    return row ? this.toSnapshot(request, row) : null;
  }

  private async openGrace(request: AccessResolveRequest): Promise<void> {
    const user = await this.users.findById(this.worker, request.userId);
    const membership = user?.memberships.find((candidate) => sameMembership(candidate, request));
    if (user && membership) await this.worker.transaction((tx) => this.grace.openIfDue(tx, user, membership));
  }

  private toSnapshot(
    { userId, sessionId, scope, partnerId, orgId }: AccessResolveRequest,
    row: AccessRow,
  ): AccessSnapshot {
    const verdict = judgeMfa({ ...row, scope }, this.config.mfa);
    return {
      userId,
      email: row.email,
      sessionId,
      userStatus: row.status,
      sessionRevoked: !row.sessionAlive,
      authEpoch: row.authEpoch,
      mfaEpoch: row.mfaEpoch,
      passwordChangedAt: row.passwordChangedAt,
      membershipExists: row.membershipExists,
      scope,
      partnerId,
      partnerStatus: row.partnerStatus,
      orgId,
      roleId: row.roleId,
      orgAccess: row.orgAccess,
      orgIds: row.orgIds,
      siteIds: row.siteIds,
      deviceGroupIds: row.deviceGroupIds,
      permissions: row.permissions,
      hasFactor: row.hasFactor,
      mfaEnrollmentRequired: verdict.enrollmentRequired,
      mfaGraceDue: verdict.opensGrace,
      allowedMfaMethods: verdict.allowedMethods,
      ipAllowlist: row.partnerSecurity?.ipAllowlist ?? [],
      isPlatformAdmin: row.isPlatformAdmin,
      version: Number(row.version),
    };
  }
}
