import { Injectable } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import {
  listPage,
  TenantDatabase,
  WorkerDatabase,
  type HasTenant,
  type PageRequest,
  type PageRows,
  type SqlExecutor,
} from '@rmm/persistence';
import { tenantOf, type MemberScope } from '../members/member-scope.service.js';
import { MembersRepository, type MemberSites, type NewMembership } from '../members/members.repository.js';
import type { Transaction } from '../transaction.js';
import type { User, UserMembership, UserStatus } from '../users/user.types.js';
import { UsersRepository, type AccountSummary } from '../users/users.repository.js';
import type { Invitation } from './invitation.entity.js';

export interface NewInvitation extends Omit<NewMembership, 'userId'> {
  email: string;
  name: string;
}

export type InvitationLink = Pick<Invitation, 'tokenHash' | 'mailed'>;

/** An open invitation as its tenant lists it: with the address and the name that the tenant gave. */
export interface ListedInvitation extends Pick<
  Invitation,
  'email' | 'name' | 'roleId' | 'invitedBy' | 'createdAt' | 'expiresAt'
> {
  /** Id of the user. */
  id: string;
}

export interface LockedInvitation extends Pick<Invitation, 'userId' | 'email' | 'name' | 'siteIds' | 'deviceGroupIds'> {
  roleId: string;
}

/** An open invitation as its user lists it. */
export interface PendingMembership extends Pick<
  UserMembership,
  'scope' | 'partnerId' | 'partnerName' | 'orgId' | 'orgName' | 'roleId' | 'roleName' | 'createdAt'
> {
  partnerId: string;
  /** The name that the tenant gave. */
  name: string;
  siteIds: string[] | null;
  deviceGroupIds: string[] | null;
  expiresAt: Date;
}

type OfferedMembership = Pick<
  UserMembership,
  'scope' | 'partnerStatus' | 'orgStatus' | 'partnerSecurity' | 'organizationSecurity'
>;

/** The membership that a link invites to, and the account it invites. */
export interface InvitationOffer extends OfferedMembership {
  userId: string;
  email: string;
  name: string;
  status: UserStatus;
  partnerId: string;
  orgId: string | null;
  partnerName: string | null;
  orgName: string | null;
  used: boolean;
  expired: boolean;
}

type AcceptableInvitation = Invitation & { roleId: string };

export type AcceptedInvitation = Pick<Invitation, 'partnerId' | 'orgId'>;

const OWNER = 'i.partner_id = :partnerId AND i.org_id IS NOT DISTINCT FROM :orgId::uuid';
const OPEN = `${OWNER} AND i.accepted_at IS NULL`;
/** Restricted callers see members restricted to no more than they are; null is no restriction. */
const WITHIN_SITES = `(:siteIds::uuid[] IS NULL OR i.site_ids <@ :siteIds::uuid[])
  AND (:deviceGroupIds::uuid[] IS NULL OR i.device_group_ids <@ :deviceGroupIds::uuid[])`;
const VALID_FOR = `now() + interval '7 days'`;

/** Overwrites an accepted invitation of the same user; an open one is left alone unless the statement says otherwise. */
const UPSERT = `ON CONFLICT (partner_id, org_id, user_id) DO UPDATE
  SET email = excluded.email, name = excluded.name, role_id = excluded.role_id, org_access = excluded.org_access,
    org_ids = excluded.org_ids, site_ids = excluded.site_ids, device_group_ids = excluded.device_group_ids,
    invited_by = excluded.invited_by, token_hash = excluded.token_hash, mailed = excluded.mailed,
    expires_at = excluded.expires_at, accepted_at = NULL, created_at = now(), updated_at = now()
  WHERE invitation.accepted_at IS NOT NULL`;

const COLUMNS = `(partner_id, org_id, user_id, email, name, role_id, org_access, org_ids, site_ids, device_group_ids,
  invited_by, token_hash, mailed, expires_at)`;

/** The columns of an invitation that repeats an existing membership. */
const OF_MEMBERSHIP = {
  partner: `SELECT m.partner_id, NULL::uuid, m.user_id, u.email, u.name, m.role_id, m.org_access, m.org_ids, NULL::uuid[],
    NULL::uuid[] FROM partner_membership m JOIN user_account u ON u.id = m.user_id WHERE m.partner_id = :partnerId`,
  organization: `SELECT m.partner_id, m.org_id, m.user_id, u.email, u.name, m.role_id, 'none', '{}'::uuid[], m.site_ids,
    m.device_group_ids FROM organization_membership m JOIN user_account u ON u.id = m.user_id
    WHERE m.partner_id = :partnerId AND m.org_id = :orgId`,
} as const;

const ACCEPTABLE = `
  SELECT i.id, i.partner_id AS "partnerId", i.org_id AS "orgId", i.role_id AS "roleId", i.org_access AS "orgAccess",
    i.org_ids AS "orgIds", i.site_ids AS "siteIds", i.device_group_ids AS "deviceGroupIds", i.invited_by AS "invitedBy"
  FROM invitation i`;

const OFFER = `
  SELECT u.id AS "userId", i.email, i.name, u.status, i.partner_id AS "partnerId", i.org_id AS "orgId",
    p.name AS "partnerName", d.name AS "orgName", i.accepted_at IS NOT NULL AS used, i.expires_at <= now() AS expired,
    CASE WHEN i.org_id IS NULL THEN 'partner' ELSE 'organization' END AS scope, p.status AS "partnerStatus",
    CASE WHEN d.deleted THEN NULL ELSE d.status END AS "orgStatus", p.settings -> 'security' AS "partnerSecurity",
    o.settings -> 'security' AS "organizationSecurity"
  FROM invitation i
  JOIN user_account u ON u.id = i.user_id
  LEFT JOIN partner p ON p.id = i.partner_id
  LEFT JOIN organization_directory d ON d.org_id = i.org_id
  LEFT JOIN organization_security_policy o ON o.org_id = i.org_id
  WHERE i.token_hash = :tokenHash`;

/**
 * Invitations: memberships that are not accepted yet, and the hashes of the links to accept them. SQL, because each
 * change is a conditional statement that exactly one of concurrent callers succeeds with.
 */
@Injectable()
export class InvitationsRepository {
  constructor(
    private readonly tenants: TenantDatabase,
    private readonly worker: WorkerDatabase,
    private readonly users: UsersRepository,
    private readonly members: MembersRepository,
  ) {}

  /** Finds the account of an e-mail address; under the worker login, because its tenants may be others. */
  findAccount(email: string): Promise<AccountSummary | null> {
    return this.users.findAccountByEmail(this.worker, email);
  }

  /**
   * Stores an invitation, with a new account when the address has none.
   * @returns the id of the user; null when it is a member of the scope already, is invited to it, or is
   *   kept there by SCIM
   */
  async open(
    tx: Transaction,
    account: AccountSummary | null,
    { scope, ...invitation }: NewInvitation,
    link: InvitationLink,
  ): Promise<string | null> {
    const userId = account?.id ?? randomUUID();
    const { email, name } = invitation;
    await this.users.lockMemberships(tx, userId);
    if (!account) await this.users.insertInvited(tx, { id: userId, email, name });
    if (await this.members.exists(tx, scope, userId)) return null;
    if (await this.members.isManaged(tx, scope, userId)) return null;
    const rows = await tx.query(
      `INSERT INTO invitation ${COLUMNS}
       VALUES (:partnerId, :orgId, :userId, :email, :name, :roleId, :orgAccess, :orgIds, :siteIds, :deviceGroupIds,
         :invitedBy, :tokenHash, :mailed, ${VALID_FOR})
       ${UPSERT} RETURNING id`,
      { ...tenantOf(scope), userId, ...invitation, ...link },
    );
    return rows.length === 1 ? userId : null;
  }

  /**
   * Opens an invitation for a member whose account an administrator has set back to `invited`; the membership stays.
   * An open one is left as it is.
   */
  async reopen(tx: Transaction, scope: MemberScope, userId: string, invitedBy: string): Promise<void> {
    await tx.query(
      `INSERT INTO invitation ${COLUMNS}
       SELECT member.*, :invitedBy::uuid, sha256(gen_random_uuid()::text::bytea), FALSE, now()
       FROM (${OF_MEMBERSHIP[scope.kind]} AND m.user_id = :userId AND u.status = 'invited') member
       ${UPSERT}`,
      { ...ownerOf(scope), userId, invitedBy },
    );
  }

  /** Replaces the link of an open invitation by one that is valid for seven days. */
  async replaceLink(tx: SqlExecutor, tenant: AcceptedInvitation, userId: string, link: InvitationLink): Promise<void> {
    await tx.query(
      `UPDATE invitation i SET token_hash = :tokenHash, mailed = :mailed, expires_at = ${VALID_FOR}, updated_at = now()
       WHERE ${OPEN} AND i.user_id = :userId`,
      { partnerId: tenant.partnerId, orgId: tenant.orgId, userId, ...link },
    );
  }

  /** Locks an open invitation until the transaction ends; null without one. */
  async lock(tx: SqlExecutor, scope: MemberScope, userId: string): Promise<LockedInvitation | null> {
    const [invitation] = await tx.query<LockedInvitation>(
      `SELECT i.user_id AS "userId", i.email, i.name, i.role_id AS "roleId", i.site_ids AS "siteIds",
         i.device_group_ids AS "deviceGroupIds"
       FROM invitation i WHERE ${OPEN} AND i.user_id = :userId FOR UPDATE`,
      { ...tenantOf(scope), userId },
    );
    return invitation ?? null;
  }

  /** Lists the open invitations of a scope, newest first, without those of sites that the caller has no access to. */
  list(caller: HasTenant & MemberSites, scope: MemberScope, page: PageRequest): Promise<PageRows<ListedInvitation>> {
    const { siteIds, deviceGroupIds } = caller;
    return listPage<ListedInvitation>(this.tenants.reader(caller), {
      select: `i.user_id AS id, i.email, i.name, i.role_id AS "roleId", i.invited_by AS "invitedBy",
        i.created_at AS "createdAt", i.expires_at AS "expiresAt"`,
      from: 'invitation i',
      where: `${OPEN} AND ${WITHIN_SITES}`,
      params: { ...tenantOf(scope), siteIds, deviceGroupIds },
      orderBy: 'i.created_at DESC, i.id DESC',
      page,
    });
  }

  /** Deletes an open invitation: for exactly one caller. */
  async remove(tx: SqlExecutor, tenant: AcceptedInvitation, userId: string): Promise<boolean> {
    const rows = await tx.query(`DELETE FROM invitation i WHERE ${OPEN} AND i.user_id = :userId RETURNING i.id`, {
      partnerId: tenant.partnerId,
      orgId: tenant.orgId,
      userId,
    });
    return rows.length === 1;
  }

  /** Lists what a user is invited to, newest first; under the worker login, because it may be any tenant. */
  listOfUser(worker: SqlExecutor, userId: string): Promise<PendingMembership[]> {
    return worker.query<PendingMembership>(
      `SELECT CASE WHEN i.org_id IS NULL THEN 'partner' ELSE 'organization' END AS scope, i.partner_id AS "partnerId",
         p.name AS "partnerName", i.org_id AS "orgId", d.name AS "orgName", i.role_id AS "roleId", r.name AS "roleName", i.name,
         i.site_ids AS "siteIds", i.device_group_ids AS "deviceGroupIds", i.created_at AS "createdAt",
         i.expires_at AS "expiresAt"
       FROM invitation i
       JOIN role r ON r.id = i.role_id
       JOIN partner p ON p.id = i.partner_id
       LEFT JOIN organization_directory d ON d.org_id = i.org_id
       WHERE i.user_id = :userId AND i.accepted_at IS NULL
       ORDER BY i.created_at DESC, i.id DESC`,
      { userId },
    );
  }

  isMember(tx: SqlExecutor, scope: MemberScope, userId: string): Promise<boolean> {
    return this.members.exists(tx, scope, userId);
  }

  /** Returns the status of an account, whatever its tenants; null for an unknown one. */
  async findStatus(userId: string): Promise<UserStatus | null> {
    return (await this.users.findAccountById(this.worker, userId))?.status ?? null;
  }

  /** Reads an invited user; under the worker login. */
  findUser(worker: SqlExecutor, userId: string): Promise<User | null> {
    return this.users.findById(worker, userId);
  }

  /** Finds what a link invites to; null without such a link. */
  async findOffer(tokenHash: Buffer): Promise<InvitationOffer | null> {
    const [offer] = await this.worker.query<InvitationOffer>(OFFER, { tokenHash });
    return offer ?? null;
  }

  /**
   * Uses a link up and stores its membership: for exactly one caller. Under the worker login, since the user is no
   * member yet.
   * @returns the tenant; null when the link of this user is not valid
   */
  async accept(tx: Transaction, tokenHash: Buffer, userId: string): Promise<AcceptedInvitation | null> {
    await this.users.lockMemberships(tx, userId);
    const [found] = await tx.query<AcceptableInvitation>(
      `${ACCEPTABLE} WHERE i.token_hash = :tokenHash AND i.user_id = :userId AND i.accepted_at IS NULL
         AND i.expires_at > now() FOR UPDATE`,
      { tokenHash, userId },
    );
    return found ? this.becomeMember(tx, found, userId) : null;
  }

  /** Stores the membership of an open invitation that is locked, whatever the age of its link. */
  async acceptLocked(tx: Transaction, scope: MemberScope, userId: string): Promise<void> {
    const [found] = await tx.query<AcceptableInvitation>(`${ACCEPTABLE} WHERE ${OPEN} AND i.user_id = :userId`, {
      ...tenantOf(scope),
      userId,
    });
    if (found) await this.becomeMember(tx, found, userId);
  }

  private async becomeMember(
    tx: Transaction,
    found: AcceptableInvitation,
    userId: string,
  ): Promise<AcceptedInvitation> {
    const { id, partnerId, orgId, ...restrictions } = found;
    const scope: MemberScope =
      orgId === null ? { kind: 'partner', partnerId } : { kind: 'organization', partnerId, orgId };
    await this.members.insert(tx, { ...restrictions, scope, userId });
    await tx.query('UPDATE invitation SET accepted_at = now(), role_id = NULL, updated_at = now() WHERE id = :id', {
      id,
    });
    return { partnerId, orgId };
  }

  /**
   * Activates an invited account with its first or a new password. Its address is verified only when the link was mailed
   * to it. @returns false when the account is not invited, or the link not valid, by now
   */
  async activate(
    tx: SqlExecutor,
    tokenHash: Buffer,
    userId: string,
    { passwordHash, name }: { passwordHash: string; name: string | null },
  ): Promise<boolean> {
    await this.users.lockMemberships(tx, userId);
    const rows = await tx.query(
      `UPDATE user_account u
       SET status = 'active', password_hash = :passwordHash, name = coalesce(:name, u.name), password_changed_at = now(),
         auth_epoch = u.auth_epoch + 1, updated_at = now(),
         email_verified_at = CASE WHEN i.mailed AND i.email = u.email
           THEN coalesce(u.email_verified_at, now()) ELSE u.email_verified_at END
       FROM invitation i
       WHERE i.token_hash = :tokenHash AND i.accepted_at IS NULL AND i.expires_at > now() AND u.id = i.user_id
         AND u.id = :userId AND u.status = 'invited'
       RETURNING u.id`,
      { tokenHash, userId, passwordHash, name },
    );
    return rows.length === 1;
  }
}

/** Only the parameters that the statement of this kind names. */
const ownerOf = (scope: MemberScope) =>
  scope.kind === 'partner' ? { partnerId: scope.partnerId } : { partnerId: scope.partnerId, orgId: scope.orgId };
