import { Injectable } from '@nestjs/common';
import type { SqlExecutor } from '@rmm/persistence';
import type { UserStatus } from '../users/user.js';
import type { MemberScope } from './member-scope.service.js';

/** A membership somebody wants to change, held until the transaction ends. */
export interface HeldMember {
  roleId: string;
  systemKey: string | null;
  email: string;
  name: string;
  status: UserStatus;
  /** Null is no restriction. */
  siteIds: string[] | null;
  deviceGroupIds: string[] | null;
}

const ADMIN_ROLE = 'partner_admin';

/** Single memberships of an axis, under either login: every statement names the tenant. */
@Injectable()
export class MembershipsRepository {
  /** Null when the user is no member of the axis. */
  async hold(tx: SqlExecutor, axis: MemberScope, userId: string): Promise<HeldMember | null> {
    const [member] = await tx.query<HeldMember>(
      `select m.role_id as "roleId", r.system_key as "systemKey", u.email, u.name, u.status,
         ${axis.kind === 'organization' ? 'm.site_ids' : 'null::uuid[]'} as "siteIds",
         ${axis.kind === 'organization' ? 'm.device_group_ids' : 'null::uuid[]'} as "deviceGroupIds"
       from ${tableOf(axis)} m join role r on r.id = m.role_id join user_account u on u.id = m.user_id
       where m.${ownerColumn(axis)} = $1 and m.user_id = $2 for update of m`,
      [ownerOf(axis), userId],
    );
    return member ?? null;
  }

  /**
   * Would the partner keep an active administrator without this member? The partner's row is the lock: two
   * administrators cannot go side by side.
   */
  async hasAnotherAdmin(tx: SqlExecutor, partnerId: string, userId: string): Promise<boolean> {
    await tx.query('select pg_advisory_xact_lock(hashtextextended($1, 1))', [partnerId]);
    const others = await tx.query(
      `select 1 as one from partner_membership m join role r on r.id = m.role_id join user_account u on u.id = m.user_id
       where m.partner_id = $1 and m.user_id <> $2 and r.system_key = $3 and u.status = 'active' limit 1`,
      [partnerId, userId, ADMIN_ROLE],
    );
    return others.length > 0;
  }

  async setRole(tx: SqlExecutor, axis: MemberScope, userId: string, roleId: string): Promise<void> {
    await tx.query(
      `update ${tableOf(axis)} set role_id = $3, updated_at = now() where ${ownerColumn(axis)} = $1 and user_id = $2`,
      [ownerOf(axis), userId, roleId],
    );
  }

  /** The record alone: the account stays. */
  async remove(tx: SqlExecutor, axis: MemberScope, userId: string): Promise<void> {
    await tx.query(`delete from ${tableOf(axis)} where ${ownerColumn(axis)} = $1 and user_id = $2`, [
      ownerOf(axis),
      userId,
    ]);
    await this.passInvitationOn(tx, axis, userId);
  }

  /** There is one link per user: with the tenant that sent it gone, it is for another that waits, or for nobody. */
  private async passInvitationOn(tx: SqlExecutor, axis: MemberScope, userId: string): Promise<void> {
    const { partnerId, orgId } = tenantOf(axis);
    const open = `user_id = $1 and purpose = 'invite' and partner_id = $2 and org_id is not distinct from $3`;
    const passed = await tx.query(
      `update link_token t set partner_id = m.partner_id, org_id = m.org_id
       from (select partner_id, null::uuid as org_id, created_at from partner_membership where user_id = $1
         union all
         select partner_id, org_id, created_at from organization_membership where user_id = $1
         order by created_at limit 1) m
       where t.user_id = $1 and t.purpose = 'invite' and t.partner_id = $2 and t.org_id is not distinct from $3
       returning t.user_id`,
      [userId, partnerId, orgId],
    );
    if (passed.length === 0) await tx.query(`delete from link_token where ${open}`, [userId, partnerId, orgId]);
  }
}

export const isAdminRole = (role: { systemKey: string | null }): boolean => role.systemKey === ADMIN_ROLE;

/** Whose a row of the audit trail about a member is. */
export const tenantOf = (axis: MemberScope) => ({
  partnerId: axis.partnerId,
  orgId: axis.kind === 'organization' ? axis.orgId : null,
});

const tableOf = ({ kind }: MemberScope) => (kind === 'partner' ? 'partner_membership' : 'organization_membership');
const ownerColumn = ({ kind }: MemberScope) => (kind === 'partner' ? 'partner_id' : 'org_id');
const ownerOf = (axis: MemberScope) => (axis.kind === 'partner' ? axis.partnerId : axis.orgId);
