import { Injectable } from '@nestjs/common';
import { TenantDatabase, type HasTenant } from '@rmm/persistence';
import type { OrgAccess } from './membership.js';
import type { SecuritySettings } from '../mfa/mfa-policy.js';
import type { ListUsersDto } from './dto/dto.js';
import type { UserStatus } from '../users/user.js';
import type { MemberScope } from './member-scope.service.js';

/** A member of a tenant as it is listed. Times are ISO texts of PostgreSQL. */
export interface MemberRow {
  id: string;
  email: string;
  name: string;
  status: UserStatus;
  lastLoginAt: string | null;
  mfaEnabled: boolean;
  everHadFactor: boolean;
  graceGrantedAt: string | null;
  enrollmentDeadline: string | null;
  roleId: string;
  roleName: string;
  roleForcesMfa: boolean;
  orgAccess: OrgAccess | null;
  orgIds: string[] | null;
  siteIds: string[] | null;
  deviceGroupIds: string[] | null;
}

export interface MemberPage {
  total: number;
  now: Date;
  partnerSecurity: SecuritySettings | null;
  organizationSecurity: SecuritySettings | null;
  rows: MemberRow[];
}

const partnerMembers = `partner_membership m`;
const organizationMembers = `organization_membership m`;

const columnsOf = (axis: MemberScope['kind']) => `
  u.id, u.email, u.name, u.status, u.last_login_at as "lastLoginAt", u.mfa_enabled as "mfaEnabled",
  u.first_factor_at is not null as "everHadFactor", u.mfa_grace_granted_at as "graceGrantedAt",
  u.mfa_enrollment_deadline as "enrollmentDeadline", r.id as "roleId", r.name as "roleName",
  r.force_mfa as "roleForcesMfa", m.created_at as member_since, m.id as member_id,
  ${
    axis === 'partner'
      ? `m.org_access as "orgAccess", m.org_ids as "orgIds", null as "siteIds", null as "deviceGroupIds"`
      : `null as "orgAccess", null as "orgIds", m.site_ids as "siteIds", m.device_group_ids as "deviceGroupIds"`
  }`;

/** $1 owner, $2 status, $3 role, $4 search, $5 user */
const matching = (axis: MemberScope['kind']) => `
  from ${axis === 'partner' ? partnerMembers : organizationMembers}
  join user_account u on u.id = m.user_id
  join role r on r.id = m.role_id
  where m.${axis === 'partner' ? 'partner_id' : 'org_id'} = $1
    and ($2::text is null or u.status = $2)
    and ($3::uuid is null or m.role_id = $3)
    and ($4::text is null or position(lower($4) in lower(u.name)) > 0 or position(lower($4) in u.email) > 0)
    and ($5::uuid is null or u.id = $5)`;

/** Without a filter the number is known; a filter by role needs no user. */
const totals = {
  none: () => `coalesce((select members from member_count where owner_id = $1), 0)`,
  role: (axis: MemberScope['kind']) =>
    `(select count(*)::integer from ${axis}_membership m
      where m.${axis === 'partner' ? 'partner_id' : 'org_id'} = $1 and m.role_id = $3)`,
  user: (axis: MemberScope['kind']) => `(select count(*)::integer ${matching(axis)})`,
};
type Filter = keyof typeof totals;

/** $6 limit, $7 offset, $8 partner, $9 organization. One statement whatever the number of members. */
const pageSql = (axis: MemberScope['kind'], filter: Filter) => `
  select ${totals[filter](axis)} as total, now() as now,
    (select settings -> 'security' from partner where id = $8) as "partnerSecurity",
    (select settings -> 'security' from organization_security_policy where org_id = $9) as "organizationSecurity",
    coalesce((select json_agg(p order by p.member_since desc, p.member_id desc) from (
      select ${columnsOf(axis)} ${matching(axis)}
      order by m.created_at desc, m.id desc limit $6 offset $7
    ) p), '[]') as rows`;

const sqlOf = (axis: MemberScope['kind']): Record<Filter, string> => ({
  none: pageSql(axis, 'none'),
  role: pageSql(axis, 'role'),
  user: pageSql(axis, 'user'),
});

const SQL = { partner: sqlOf('partner'), organization: sqlOf('organization') };

/** Members of a tenant, read in its context. */
@Injectable()
export class MembersRepository {
  constructor(private readonly tenants: TenantDatabase) {}

  async page(
    caller: HasTenant,
    axis: MemberScope,
    { page, limit, status, roleId, search }: Pick<ListUsersDto, 'page' | 'limit' | 'status' | 'roleId' | 'search'>,
    userId?: string,
  ): Promise<MemberPage> {
    const owner = axis.kind === 'partner' ? axis.partnerId : axis.orgId;
    const filter: Filter = (status ?? search ?? userId) ? 'user' : roleId ? 'role' : 'none';
    const [found] = await this.tenants.read<MemberPage>(caller, SQL[axis.kind][filter], [
      owner,
      status ?? null,
      roleId ?? null,
      search ?? null,
      userId ?? null,
      limit,
      (page - 1) * limit,
      axis.partnerId,
      axis.kind === 'organization' ? axis.orgId : null,
    ]);
    if (!found) throw new Error('A page of members always has one row');
    return found;
  }
}
