import { Injectable } from '@nestjs/common';
import {
  cappedTotal,
  MAX_TOTAL,
  restrictToOrganization,
  TenantDatabase,
  WorkerDatabase,
  type HasTenant,
  type SqlExecutor,
  type TenantTransaction,
} from '@rmm/persistence';
import { NotFoundError } from '@rmm/service-kit';
import type { SecuritySettings } from '../mfa/mfa.policy.js';
import type { Transaction } from '../transaction.js';
import type { UserStatus } from '../users/user.types.js';
import type { ListUsersDto } from './dto/list-members.dto.js';
import { tenantOf, type MemberRestrictions, type MemberScope } from './member-scope.service.js';
import type { OrgAccess } from './membership.types.js';
import { OrganizationMembership } from './organization-membership.entity.js';
import { PartnerMembership } from './partner-membership.entity.js';

/** A member of a scope as it is listed. */
export interface MemberRow {
  id: string;
  email: string;
  name: string;
  status: UserStatus;
  lastLoginAt: Date | null;
  mfaEnabled: boolean;
  everHadFactor: boolean;
  graceGrantedAt: Date | null;
  enrollmentDeadline: Date | null;
  roleId: string;
  roleName: string;
  roleForcesMfa: boolean;
  orgAccess: OrgAccess | null;
  orgIds: string[] | null;
  siteIds: string[] | null;
  deviceGroupIds: string[] | null;
  managedByScim: boolean;
}

/** The number of all matching members, and what decides their MFA status. */
interface PageHead {
  total: number;
  /** The database clock. */
  now: Date;
  partnerSecurity: SecuritySettings | null;
  organizationSecurity: SecuritySettings | null;
}

export interface MemberPage extends PageHead {
  /** True when more members match than `total`. */
  totalCapped?: true;
  rows: MemberRow[];
}

/** A restriction to sites and device groups; null is no restriction. */
export interface MemberSites {
  siteIds: readonly string[] | null;
  deviceGroupIds: readonly string[] | null;
}

/** A membership that is locked until the transaction ends. */
export interface LockedMember {
  roleId: string;
  systemKey: string | null;
  email: string;
  name: string;
  status: UserStatus;
  /** Null for organization members. */
  orgAccess: OrgAccess | null;
  orgIds: string[] | null;
  /** Null is no restriction. */
  siteIds: string[] | null;
  deviceGroupIds: string[] | null;
  /** SCIM owns the role and the membership itself. */
  managedByScim: boolean;
}

/** A membership with the partner or organization it is in. */
export interface ScopedMember extends LockedMember {
  scope: MemberScope;
}

export interface NewMembership {
  scope: MemberScope;
  userId: string;
  roleId: string;
  invitedBy: string | null;
  orgAccess: OrgAccess;
  orgIds: string[];
  siteIds: string[] | null;
  deviceGroupIds: string[] | null;
}

type Filters = Pick<ListUsersDto, 'status' | 'roleId' | 'search'> & {
  userId?: string;
  /** The restriction of the caller, who sees members restricted to no more. */
  siteIds?: readonly string[];
  deviceGroupIds?: readonly string[];
};

const PARTNER_ADMIN = 'partner_admin';

export const isAdminRole = (role: { systemKey: string | null }): boolean => role.systemKey === PARTNER_ADMIN;

/** Table, owner column and the columns of one kind of membership. */
const TABLES = {
  partner: {
    name: 'partner_membership',
    owner: 'partner_id',
    entity: PartnerMembership,
    restriction: `m.org_access AS "orgAccess", m.org_ids AS "orgIds", NULL AS "siteIds", NULL AS "deviceGroupIds",
      FALSE AS "managedByScim"`,
  },
  organization: {
    name: 'organization_membership',
    owner: 'org_id',
    entity: OrganizationMembership,
    restriction: `NULL AS "orgAccess", NULL AS "orgIds", m.site_ids AS "siteIds",
      m.device_group_ids AS "deviceGroupIds",
      EXISTS (SELECT FROM scim_user s WHERE s.org_id = m.org_id AND s.user_id = m.user_id) AS "managedByScim"`,
  },
} as const;

/** Each filter applies only when its value is not null. */
const FILTERS = {
  status: 'u.status = :status',
  roleId: 'm.role_id = :roleId',
  search: '(position(lower(:search) IN lower(u.name)) > 0 OR position(lower(:search) IN u.email) > 0)',
  userId: 'u.id = :userId',
  siteIds: 'm.site_ids <@ :siteIds::uuid[]',
  deviceGroupIds: 'm.device_group_ids <@ :deviceGroupIds::uuid[]',
} as const satisfies Record<keyof Filters, string>;

/** Reads and writes memberships. Row-level security limits each statement to the caller's tenant. */
@Injectable()
export class MembersRepository {
  constructor(
    private readonly tenants: TenantDatabase,
    private readonly worker: WorkerDatabase,
  ) {}

  /**
   * Lists one page, newest membership first, in one round trip whatever the number of members. A caller restricted to
   * sites sees the members restricted to no more than these.
   */
  async list(
    caller: HasTenant & MemberSites,
    scope: MemberScope,
    { page, limit, status, roleId, search }: Pick<ListUsersDto, 'page' | 'limit' | 'status' | 'roleId' | 'search'>,
  ): Promise<MemberPage> {
    const sites = scope.kind === 'organization' ? restrictionOf(caller) : {};
    return this.search(caller, scope, definedOf({ status, roleId, search, ...sites }), { page, limit });
  }

  /** Finds one member of a scope whatever its sites, as a page; empty when the user is no member. */
  find(caller: HasTenant, scope: MemberScope, userId: string): Promise<MemberPage> {
    return this.search(caller, scope, { userId }, { page: 1, limit: 1 });
  }

  /** Returns true when the user is a member of the scope. */
  async exists(tx: SqlExecutor, scope: MemberScope, userId: string): Promise<boolean> {
    const { name, owner } = TABLES[scope.kind];
    const rows = await tx.query(`SELECT 1 AS one FROM ${name} m WHERE m.${owner} = :ownerId AND m.user_id = :userId`, {
      ownerId: ownerIdOf(scope),
      userId,
    });
    return rows.length > 0;
  }

  /** Returns true for a user whom SCIM keeps in the organization, also for one without a membership now. */
  async isManaged(tx: SqlExecutor, scope: MemberScope, userId: string): Promise<boolean> {
    if (scope.kind === 'partner') return false;
    const rows = await tx.query('SELECT 1 AS one FROM scim_user s WHERE s.org_id = :orgId AND s.user_id = :userId', {
      orgId: scope.orgId,
      userId,
    });
    return rows.length > 0;
  }

  /**
   * The policy of the partner is read under the worker login: it decides about the members of its organizations too,
   * whose administrators cannot see the partner.
   */
  private async search(
    caller: HasTenant,
    scope: MemberScope,
    filters: Filters,
    { page, limit }: { page: number; limit: number },
  ): Promise<MemberPage> {
    const owner = { ownerId: ownerIdOf(scope) };
    const reader = scope.kind === 'organization' ? restrictToOrganization(caller, scope.orgId) : caller;
    const params = { ...owner, ...filters, orgId: tenantOf(scope).orgId, limit, offset: (page - 1) * limit };
    const [listed, [partner]] = await Promise.all([
      this.tenants.read<PageHead & (MemberRow | { id: null })>(reader, pageSql(scope.kind, filters), params),
      this.worker.query<Pick<PageHead, 'partnerSecurity'>>(PARTNER_SECURITY, { partnerId: scope.partnerId }),
    ]);
    const { total, now, organizationSecurity } = listed[0] as PageHead;
    const rows = listed.filter((row): row is PageHead & MemberRow => row.id !== null);
    const counted = Object.keys(filters).length === 0 ? { total } : cappedTotal(total);
    const partnerSecurity = partner?.partnerSecurity ?? null;
    return { now, organizationSecurity, ...counted, partnerSecurity, rows };
  }

  /** Locks a membership until the transaction ends. @throws NotFoundError when the user is no member of the scope */
  async lock(tx: SqlExecutor, scope: MemberScope, userId: string): Promise<LockedMember> {
    const { name, owner, restriction } = TABLES[scope.kind];
    const [member] = await tx.query<LockedMember>(
      `SELECT m.role_id AS "roleId", r.system_key AS "systemKey", u.email, u.name, u.status, ${restriction}
       FROM ${name} m JOIN role r ON r.id = m.role_id JOIN user_account u ON u.id = m.user_id
       WHERE m.${owner} = :ownerId AND m.user_id = :userId FOR UPDATE OF m`,
      { ownerId: ownerIdOf(scope), userId },
    );
    if (!member) throw new NotFoundError('User');
    return member;
  }

  /** Lists the memberships of a user that the caller can see, in no order. */
  async listOfUser(tx: SqlExecutor, userId: string): Promise<ScopedMember[]> {
    const memberships: ScopedMember[] = [];
    for (const kind of ['partner', 'organization'] as const) {
      const { name, owner, restriction } = TABLES[kind];
      const rows = await tx.query<LockedMember & { partnerId: string; ownerId: string }>(
        `SELECT m.partner_id AS "partnerId", m.${owner} AS "ownerId", m.role_id AS "roleId",
           r.system_key AS "systemKey", u.email, u.name, u.status, ${restriction}
         FROM ${name} m JOIN role r ON r.id = m.role_id JOIN user_account u ON u.id = m.user_id
         WHERE m.user_id = :userId`,
        { userId },
      );
      for (const { partnerId, ownerId, ...member } of rows) {
        const scope = kind === 'partner' ? { kind, partnerId } : { kind, partnerId, orgId: ownerId };
        memberships.push({ ...member, scope });
      }
    }
    return memberships;
  }

  /**
   * Checks whether the partner has another active administrator with access to all its organizations: one without it
   * cannot manage members. Locks the partner's administrators, so that two of them
   * cannot be removed at the same time.
   */
  async hasAnotherAdmin(tx: SqlExecutor, partnerId: string, userId: string): Promise<boolean> {
    await tx.query('SELECT pg_advisory_xact_lock(hashtextextended(:partnerId, 1))', { partnerId });
    const others = await tx.query(
      `SELECT 1 AS one
       FROM partner_membership m JOIN role r ON r.id = m.role_id JOIN user_account u ON u.id = m.user_id
       WHERE m.partner_id = :partnerId AND m.user_id <> :userId AND r.system_key = :systemKey AND u.status = 'active'
         AND m.org_access = 'all'
       LIMIT 1`,
      { partnerId, userId, systemKey: PARTNER_ADMIN },
    );
    return others.length > 0;
  }

  /** @returns false when the user is a member of this scope already */
  async insert(tx: Transaction, { scope, orgAccess, orgIds, ...membership }: NewMembership): Promise<boolean> {
    const { siteIds, deviceGroupIds, ...common } = membership;
    const insert = tx.manager.createQueryBuilder().insert();
    const filled =
      scope.kind === 'partner'
        ? insert.into(PartnerMembership).values({ ...common, partnerId: scope.partnerId, orgAccess, orgIds })
        : insert
            .into(OrganizationMembership)
            .values({ ...common, partnerId: scope.partnerId, orgId: scope.orgId, siteIds, deviceGroupIds });
    const result = await filled.orIgnore().updateEntity(false).returning(['id']).execute();
    return (result.raw as unknown[]).length === 1;
  }

  async setRole(tx: Transaction, scope: MemberScope, userId: string, roleId: string): Promise<void> {
    if (scope.kind === 'partner') {
      await tx.repository(PartnerMembership).update({ partnerId: scope.partnerId, userId }, { roleId });
    } else {
      await tx.repository(OrganizationMembership).update({ orgId: scope.orgId, userId }, { roleId });
    }
  }

  /** Changes what a member is restricted to. */
  async setRestrictions(
    tx: TenantTransaction,
    scope: MemberScope,
    userId: string,
    { orgAccess, orgIds, siteIds, deviceGroupIds }: MemberRestrictions,
  ): Promise<void> {
    if (scope.kind === 'partner') {
      await tx.repository(PartnerMembership).update({ partnerId: scope.partnerId, userId }, { orgAccess, orgIds });
    } else {
      await tx.repository(OrganizationMembership).update({ orgId: scope.orgId, userId }, { siteIds, deviceGroupIds });
    }
  }

  /** Deletes the membership and what is left of its invitation; the user remains. @returns false without a membership */
  async remove(tx: SqlExecutor, scope: MemberScope, userId: string): Promise<boolean> {
    const { name, owner } = TABLES[scope.kind];
    await tx.query(
      `DELETE FROM invitation WHERE user_id = :userId AND partner_id = :partnerId
         AND org_id IS NOT DISTINCT FROM :orgId::uuid`,
      { userId, ...tenantOf(scope) },
    );
    const rows = await tx.query(
      `DELETE FROM ${name} m WHERE m.${owner} = :ownerId AND m.user_id = :userId RETURNING m.id`,
      { ownerId: ownerIdOf(scope), userId },
    );
    return rows.length === 1;
  }
}

const ownerIdOf = (scope: MemberScope) => (scope.kind === 'partner' ? scope.partnerId : scope.orgId);

/** The restriction of a caller as filters; none for a caller without. */
const restrictionOf = ({ siteIds, deviceGroupIds }: MemberSites): Filters => ({
  ...(siteIds && { siteIds }),
  ...(deviceGroupIds && { deviceGroupIds }),
});

const PARTNER_SECURITY = `SELECT settings -> 'security' AS "partnerSecurity" FROM partner WHERE id = :partnerId`;

const definedOf = (filters: Filters): Filters =>
  Object.fromEntries(Object.entries(filters).filter(([, value]) => value !== undefined));

/**
 * The texts depend only on which filters are set, so there are few and each stays prepared. `OFFSET 0` has the role of each
 * member looked up by its id: a join would read the roles of all tenants for a page.
 */
function matching(kind: MemberScope['kind'], filters: Filters): string {
  const conditions = Object.keys(filters).map((name) => ` AND ${FILTERS[name as keyof Filters]}`);
  const { name, owner } = TABLES[kind];
  return `FROM ${name} m JOIN user_account u ON u.id = m.user_id
    JOIN LATERAL (SELECT id, name, force_mfa FROM role WHERE id = m.role_id OFFSET 0) r ON true
    WHERE m.${owner} = :ownerId${conditions.join('')}`;
}

/** Returns one row without a member when the page is empty: its head is needed as well. */
const pageSql = (kind: MemberScope['kind'], filters: Filters): string => `
  WITH page AS MATERIALIZED (
    SELECT m.created_at AS "createdAt", m.id AS "membershipId", u.id, u.email, u.name, u.status,
      u.last_login_at AS "lastLoginAt", u.mfa_enabled AS "mfaEnabled",
      u.first_factor_at IS NOT NULL AS "everHadFactor", u.mfa_grace_granted_at AS "graceGrantedAt",
      u.mfa_enrollment_deadline AS "enrollmentDeadline", r.id AS "roleId", r.name AS "roleName",
      r.force_mfa AS "roleForcesMfa", ${TABLES[kind].restriction}
    ${matching(kind, filters)}
    ORDER BY m.created_at DESC, m.id DESC LIMIT :limit OFFSET :offset)
  SELECT ${totalSql(kind, filters)} AS total, now() AS now,
    (SELECT settings -> 'security' FROM organization_security_policy WHERE org_id = :orgId) AS "organizationSecurity",
    page.*
  FROM (SELECT) head LEFT JOIN page ON true
  ORDER BY page."createdAt" DESC, page."membershipId" DESC`;

/** Without a filter the total is stored, and a filter by role needs no join: both keep long lists fast. */
function totalSql(kind: MemberScope['kind'], filters: Filters): string {
  const names = Object.keys(filters);
  if (names.length === 0) return 'coalesce((SELECT members FROM member_count WHERE owner_id = :ownerId), 0)';
  const { name, owner } = TABLES[kind];
  return names.join() === 'roleId'
    ? counted(`FROM ${name} m WHERE m.${owner} = :ownerId AND m.role_id = :roleId`)
    : counted(matching(kind, filters));
}

/** The last page gives the total: a text that few members have, for which all are read, is not looked for twice. */
const counted = (from: string): string => `
  CASE WHEN (SELECT count(*) FROM page) < :limit::integer AND (:offset::integer = 0 OR EXISTS (SELECT FROM page))
    THEN :offset::integer + (SELECT count(*)::integer FROM page)
    ELSE (SELECT count(*)::integer FROM (SELECT 1 ${from} LIMIT ${MAX_TOTAL + 1}) matching) END`;
