import { Injectable } from '@nestjs/common';
import type { SqlExecutor } from '@rmm/persistence';
import type { SecuritySettings } from '../mfa/mfa-policy.js';
import { inOrder } from '../members/membership.js';
import type { UserMembership, User } from './user.js';

type UserRow = Omit<User, 'memberships'> & { memberships: MembershipRow[] };

interface MembershipRow {
  id: string | null;
  scope: UserMembership['scope'];
  partnerId: string | null;
  orgId: string | null;
  roleId: string | null;
  roleName: string | null;
  roleForcesMfa: boolean;
  partnerName: string | null;
  partnerStatus: string | null;
  partnerSettings: { security?: SecuritySettings; locale?: string } | null;
  orgName: string | null;
  orgStatus: string | null;
  orgSettings: { security?: SecuritySettings } | null;
  createdAt: string;
}

/**
 * Every way a user may act, as JSON rows. System scope is a membership too: that of the seeded Platform Admin role.
 * A deleted organization reads as one without status, so it is never active.
 */
const MEMBERSHIPS = `
  select pm.id, 'partner' as scope, pm.partner_id, null::uuid as org_id, pm.role_id, pm.created_at
    from partner_membership pm where pm.user_id = u.id
  union all
  select om.id, 'organization', om.partner_id, om.org_id, om.role_id, om.created_at
    from organization_membership om where om.user_id = u.id
  union all
  select null, 'system', null, null, r.id, u.created_at
    from role r where u.is_platform_admin and r.system_key = 'platform_admin' and r.partner_id is null`;

const SELECT = `
  select u.id, u.email, u.name, u.password_hash as "passwordHash", u.status, u.is_platform_admin as "isPlatformAdmin",
    u.requires_setup as "requiresSetup", u.setup_completed_at as "setupCompletedAt", u.avatar_url as "avatarUrl",
    u.preferences, u.mfa_enabled as "mfaEnabled", u.mfa_method as "mfaMethod", u.phone_number as "phoneNumber",
    u.phone_verified as "phoneVerified", u.first_factor_at as "firstFactorAt",
    u.mfa_grace_granted_at as "graceGrantedAt", u.mfa_enrollment_deadline as "enrollmentDeadline",
    u.auth_epoch as "authEpoch", u.mfa_epoch as "mfaEpoch", u.reset_epoch as "resetEpoch",
    u.email_epoch as "emailEpoch", u.email_verified_at as "emailVerifiedAt", u.pending_email as "pendingEmail",
    u.pending_email_requested_at as "pendingEmailRequestedAt", u.password_changed_at as "passwordChangedAt",
    u.last_login_at as "lastLoginAt", u.created_at as "createdAt", now() as now,
    coalesce((
      select json_agg(json_build_object(
        'id', m.id, 'scope', m.scope, 'partnerId', m.partner_id, 'orgId', m.org_id, 'roleId', m.role_id,
        'roleName', r.name, 'roleForcesMfa', coalesce(r.force_mfa, false), 'partnerName', p.name,
        'partnerStatus', p.status, 'partnerSettings', p.settings, 'orgName', d.name,
        'orgStatus', case when d.deleted then null else d.status end, 'orgSettings', o.settings,
        'createdAt', m.created_at))
      from (${MEMBERSHIPS}) m
      left join role r on r.id = m.role_id
      left join partner p on p.id = m.partner_id
      left join organization_directory d on d.org_id = m.org_id
      left join organization_security_policy o on o.org_id = m.org_id
    ), '[]') as memberships
  from user_account u`;

/** Reads a user with all that login and sessions decide by, in one statement. Runs under the worker login. */
@Injectable()
export class UsersRepository {
  /** @param email  lower case */
  async findByEmail(tx: SqlExecutor, email: string): Promise<User | null> {
    return toUser(await tx.query<UserRow>(`${SELECT} where u.email = $1`, [email]));
  }

  async findById(tx: SqlExecutor, id: string): Promise<User | null> {
    return toUser(await tx.query<UserRow>(`${SELECT} where u.id = $1`, [id]));
  }
}

function toUser([row]: UserRow[]): User | null {
  if (!row) return null;
  return { ...row, memberships: inOrder(row.memberships.map(toMembership)) };
}

function toMembership({ partnerSettings, orgSettings, createdAt, ...row }: MembershipRow): UserMembership {
  return {
    ...row,
    createdAt: new Date(createdAt),
    partnerSecurity: partnerSettings?.security ?? null,
    partnerLocale: partnerSettings?.locale ?? null,
    organizationSecurity: orgSettings?.security ?? null,
  };
}
