import { Injectable } from '@nestjs/common';
import type { SqlExecutor } from '@rmm/persistence';
import type { OrgAccess } from '../members/membership.js';
import type { UserStatus } from '../users/user.js';
import type { MemberScope } from '../members/member-scope.service.js';

export interface InvitedAccount {
  id: string;
  email: string;
  name: string;
  status: UserStatus;
}

export interface NewMembership {
  axis: MemberScope;
  userId: string;
  roleId: string;
  invitedBy: string | null;
  orgAccess: OrgAccess;
  orgIds: string[];
  siteIds: string[] | null;
  deviceGroupIds: string[] | null;
}

/** What stands behind the token of an invitation. */
export interface InviteOffer {
  userId: string;
  email: string;
  name: string;
  status: UserStatus;
  partnerId: string | null;
  orgId: string | null;
  partnerName: string | null;
  orgName: string | null;
  used: boolean;
  expired: boolean;
}

/** Accounts, memberships and invitation tokens, under the worker login: an address may have an account elsewhere. */
@Injectable()
export class InvitationsRepository {
  /** The account of an address: the one it has, or a new one that is still to be accepted. */
  async ensureAccount(tx: SqlExecutor, email: string, name: string): Promise<InvitedAccount> {
    await tx.query(
      `insert into user_account (email, name, status) values ($1, $2, 'invited') on conflict (email) do nothing`,
      [email, name],
    );
    const [account] = await tx.query<InvitedAccount>(
      'select id, email, name, status from user_account where email = $1 for update',
      [email],
    );
    if (!account) throw new Error('The invited account cannot be read');
    return account;
  }

  /** False when the user is a member of this tenant already. */
  async insertMembership(tx: SqlExecutor, membership: NewMembership): Promise<boolean> {
    const { axis, userId, roleId, invitedBy } = membership;
    const rows =
      axis.kind === 'partner'
        ? await tx.query(
            `insert into partner_membership (partner_id, user_id, role_id, invited_by, org_access, org_ids)
             values ($1, $2, $3, $4, $5, $6) on conflict do nothing returning id`,
            [axis.partnerId, userId, roleId, invitedBy, membership.orgAccess, membership.orgIds],
          )
        : await tx.query(
            `insert into organization_membership
               (partner_id, org_id, user_id, role_id, invited_by, site_ids, device_group_ids)
             values ($1, $2, $3, $4, $5, $6, $7) on conflict do nothing returning id`,
            [axis.partnerId, axis.orgId, userId, roleId, invitedBy, membership.siteIds, membership.deviceGroupIds],
          );
    return rows.length === 1;
  }

  /** One live token per user: a new one replaces the older. Good for seven days. */
  async replaceToken(tx: SqlExecutor, userId: string, tokenHash: Buffer, axis: MemberScope): Promise<void> {
    await tx.query(
      `insert into link_token (user_id, purpose, token_hash, partner_id, org_id, expires_at)
       values ($1, 'invite', $2, $3, $4, now() + interval '7 days')
       on conflict (user_id, purpose) do update
         set token_hash = excluded.token_hash, partner_id = excluded.partner_id, org_id = excluded.org_id,
           expires_at = excluded.expires_at, used_at = null, created_at = now()`,
      [userId, tokenHash, axis.partnerId, axis.kind === 'organization' ? axis.orgId : null],
    );
  }

  async findOffer(db: SqlExecutor, tokenHash: Buffer): Promise<InviteOffer | null> {
    const [offer] = await db.query<InviteOffer>(
      `select u.id as "userId", u.email, u.name, u.status, t.partner_id as "partnerId", t.org_id as "orgId",
         p.name as "partnerName", d.name as "orgName", t.used_at is not null as used, t.expires_at <= now() as expired
       from link_token t join user_account u on u.id = t.user_id
       left join partner p on p.id = t.partner_id
       left join organization_directory d on d.org_id = t.org_id
       where t.token_hash = $1 and t.purpose = 'invite'`,
      [tokenHash],
    );
    return offer ?? null;
  }

  /** Uses a token up and makes its account active: for exactly one caller. @returns the user, or null */
  async accept(tx: SqlExecutor, tokenHash: Buffer, passwordHash: string, name: string | null): Promise<string | null> {
    const [row] = await tx.query<{ id: string }>(
      `with used as (
         update link_token set used_at = now()
         where token_hash = $1 and purpose = 'invite' and used_at is null and expires_at > now()
         returning user_id
       )
       update user_account u
       set status = 'active', password_hash = $2, name = coalesce($3, u.name), password_changed_at = now(),
         auth_epoch = auth_epoch + 1, email_verified_at = coalesce(email_verified_at, now()), updated_at = now()
       from used where u.id = used.user_id and u.status = 'invited'
       returning u.id`,
      [tokenHash, passwordHash, name],
    );
    return row?.id ?? null;
  }
}
