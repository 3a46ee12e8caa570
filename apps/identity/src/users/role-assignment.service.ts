import { Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { AuditTrail } from '@rmm/messaging';
import { Tenants, type TenantTransaction } from '@rmm/persistence';
import { ConflictError, ForbiddenError, NotFoundError } from '@rmm/service-kit';
import { AccessChanges } from '../access/access-changes.js';
import { Grants } from '../roles/grants.js';
import type { AssignRoleDto } from './dto.js';
import { UserAxes, type UserAxis } from './user-axis.js';

export class SelfActionRefused extends ForbiddenError {
  override code = 'self_action_refused';
  override error = 'You cannot do this to your own account';
}

export class LastAdmin extends ConflictError {
  override code = 'last_admin';
  override error = 'The last administrator cannot be removed';
}

const ADMIN_ROLE = 'partner_admin';

/** Giving a member another role. */
@Injectable()
export class RoleAssignmentService {
  constructor(
    private readonly tenants: Tenants,
    private readonly axes: UserAxes,
    private readonly grants: Grants,
    private readonly audit: AuditTrail,
    private readonly access: AccessChanges,
  ) {}

  /** @throws SelfActionRefused, NotFoundError, InvalidRoleScope, PermissionNotDelegable, LastAdmin */
  async assign(caller: UserCaller, userId: string, dto: AssignRoleDto): Promise<void> {
    if (userId === caller.userId) throw new SelfActionRefused();
    const axis = await this.axes.of(caller, dto);
    const role = await this.grants.roleFor(caller, axis, dto.roleId);
    await this.tenants.run(caller, async (tx) => {
      const previous = await this.lockMember(tx, axis, userId);
      if (!previous) throw new NotFoundError('User');
      if (previous.systemKey === ADMIN_ROLE && role.systemKey !== ADMIN_ROLE) {
        await this.assertAnotherAdmin(tx, axis, userId);
      }
      await this.update(tx, axis, userId, role.id);
      await this.access.announce(tx, { userIds: [userId], reason: 'role_assigned' });
      const owner = { partnerId: axis.partnerId, orgId: axis.kind === 'organization' ? axis.orgId : null };
      const change = { from: previous.roleId, to: role.id };
      await this.audit.add(tx, caller, 'user.role.assign', { type: 'user', id: userId, ...owner }, change);
    });
  }

  private async lockMember(
    tx: TenantTransaction,
    axis: UserAxis,
    userId: string,
  ): Promise<{ roleId: string; systemKey: string | null } | undefined> {
    const [member] = await tx.query<{ roleId: string; systemKey: string | null }>(
      `select m.role_id as "roleId", r.system_key as "systemKey"
       from ${tableOf(axis)} m join role r on r.id = m.role_id
       where m.${ownerColumn(axis)} = $1 and m.user_id = $2 for update of m`,
      [ownerOf(axis), userId],
    );
    return member;
  }

  /** The partner's row is the lock: two administrators cannot be demoted side by side. */
  private async assertAnotherAdmin(tx: TenantTransaction, axis: UserAxis, userId: string): Promise<void> {
    if (axis.kind !== 'partner') return;
    await tx.query('select id from partner where id = $1 for no key update', [axis.partnerId]);
    const others = await tx.query(
      `select 1 as one from partner_membership m join role r on r.id = m.role_id join user_account u on u.id = m.user_id
       where m.partner_id = $1 and m.user_id <> $2 and r.system_key = $3 and u.status = 'active' limit 1`,
      [axis.partnerId, userId, ADMIN_ROLE],
    );
    if (others.length === 0) throw new LastAdmin();
  }

  private async update(tx: TenantTransaction, axis: UserAxis, userId: string, roleId: string): Promise<void> {
    await tx.query(
      `update ${tableOf(axis)} set role_id = $3, updated_at = now() where ${ownerColumn(axis)} = $1 and user_id = $2`,
      [ownerOf(axis), userId, roleId],
    );
  }
}

const tableOf = ({ kind }: UserAxis) => (kind === 'partner' ? 'partner_membership' : 'organization_membership');
const ownerColumn = ({ kind }: UserAxis) => (kind === 'partner' ? 'partner_id' : 'org_id');
const ownerOf = (axis: UserAxis) => (axis.kind === 'partner' ? axis.partnerId : axis.orgId);
