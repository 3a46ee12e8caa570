import { Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { AuditTrail } from '@rmm/messaging';
import type { Permission } from '@rmm/permissions';
import { TenantDatabase, type TenantTransaction } from '@rmm/persistence';
import { NotFoundError, ValidationError } from '@rmm/service-kit';
import { AccessChanges } from '../access/access-changes.js';
import type { AxisQueryDto } from '../users/dto.js';
import type { UserAxis } from '../users/user-axis.js';
import type { CloneRoleDto, CreateRoleDto, UpdateRoleDto } from './dto.js';
import { Grants } from './grants.js';
import { RoleAxes } from './role-axes.js';
import type { RoleDto } from './role.dto.js';
import { RoleLock } from './role-lock.js';
import { knownPermissions, type RoleTree } from './role-tree.js';
import { RoleHasChildren, RoleHasUsers, SystemRoleImmutable } from './roles.errors.js';
import { RolesRepository, type WholeRole } from './roles.repository.js';
import { toRoleDto } from './roles.service.js';
import { RolesWriter, type RoleFields } from './roles-writer.repository.js';

/** Making and changing custom roles: never a role that gives what its maker does not hold. @see CONTRACT.md 4.6 */
@Injectable()
export class RoleEditor {
  constructor(
    private readonly tenants: TenantDatabase,
    private readonly axes: RoleAxes,
    private readonly roles: RolesRepository,
    private readonly writer: RolesWriter,
    private readonly lock: RoleLock,
    private readonly grants: Grants,
    private readonly audit: AuditTrail,
    private readonly access: AccessChanges,
  ) {}

  /** @throws ValidationError, PermissionNotDelegable, InvalidParentRole, InheritanceTooDeep */
  async create(caller: UserCaller, dto: CreateRoleDto): Promise<RoleDto> {
    const own = knownPermissions(dto.permissions ?? []);
    const axis = await this.axes.named(caller, dto);
    return this.change(caller, axis, async (tx, tree) => {
      const { name, description = null, parentRoleId = null, forceMfa = false } = dto;
      if (parentRoleId !== null) tree.assertParent(null, parentRoleId);
      this.grants.assertHeld(caller, tree.inForceWith(own, parentRoleId));
      const role = await this.store(tx, axis, { name, description, parentRoleId, forceMfa }, own);
      await this.audit.record(tx, caller, 'role.create', resourceOf(role), {
        permissions: own,
        parentRoleId,
        forceMfa,
      });
      return role;
    });
  }

  /**
   * Whoever touches what a role gives must hold all it gave before and will give. A name or a description is free.
   * @throws NotFoundError, SystemRoleImmutable, CircularInheritance, InheritanceTooDeep, PermissionNotDelegable
   */
  async update(caller: UserCaller, roleId: string, dto: UpdateRoleDto): Promise<RoleDto> {
    const { orgId, partnerId, ...fields } = dto;
    if (Object.values(fields).every((value) => value === undefined)) {
      throw ValidationError.of('body', 'names no field to change');
    }
    const wanted = fields.permissions && knownPermissions(fields.permissions);
    const axis = await this.axes.ofRole(caller, roleId, { orgId, partnerId });
    return this.change(caller, axis, async (tx, tree) => {
      const before = await this.custom(tx, axis, roleId, 'modify');
      const after: RoleFields = {
        name: fields.name ?? before.name,
        description: fields.description === undefined ? before.description : fields.description,
        parentRoleId: fields.parentRoleId === undefined ? before.parentRoleId : fields.parentRoleId,
        forceMfa: fields.forceMfa ?? before.forceMfa,
      };
      const own = wanted ?? before.permissions;
      if (after.parentRoleId !== null && after.parentRoleId !== before.parentRoleId) {
        tree.assertParent(roleId, after.parentRoleId);
      }
      if (wanted || fields.parentRoleId !== undefined || fields.forceMfa !== undefined) {
        this.grants.assertHeld(caller, tree.inForceWith(before.permissions, before.parentRoleId));
        this.grants.assertHeld(caller, tree.inForceWith(own, after.parentRoleId));
      }
      await this.writer.update(tx, roleId, after);
      if (wanted) await this.writer.setPermissions(tx, roleId, own);
      const roleIds = [roleId, ...tree.descendants(roleId)];
      await this.access.announce(tx, { roleIds, reason: 'role_changed' });
      const details = { fields: Object.keys(fields).filter((key) => key in dto), ...differences(before, after, own) };
      await this.audit.record(tx, caller, 'role.update', resourceOf({ ...before, name: after.name }), details);
      return this.stored(tx, axis, roleId);
    });
  }

  /** @throws NotFoundError, SystemRoleImmutable, RoleHasUsers, RoleHasChildren */
  async remove(caller: UserCaller, roleId: string, named: AxisQueryDto): Promise<void> {
    const axis = await this.axes.ofRole(caller, roleId, named);
    await this.change(caller, axis, async (tx) => {
      const role = await this.custom(tx, axis, roleId, 'delete');
      const { userCount, childRoleCount } = await this.writer.holdForRemoval(tx, roleId);
      if (userCount > 0) throw new RoleHasUsers(userCount);
      if (childRoleCount > 0) throw new RoleHasChildren(childRoleCount);
      await this.writer.remove(tx, roleId);
      const details = { permissions: role.permissions, parentRoleId: role.parentRoleId };
      await this.audit.record(tx, caller, 'role.delete', resourceOf(role), details);
    });
  }

  /** A role of the caller's own with everything the source gives, its parents' pairs included. */
  async clone(caller: UserCaller, sourceId: string, { name, ...named }: CloneRoleDto): Promise<RoleDto> {
    const axis = await this.axes.ofRole(caller, sourceId, named);
    return this.change(caller, axis, async (tx, tree) => {
      const source = await this.stored(tx, axis, sourceId);
      const permissions = tree.effective(sourceId).map(({ permission }) => permission);
      this.grants.assertHeld(caller, permissions);
      const description = `Copy of ${source.name}`;
      const fields = { name, description, parentRoleId: null, forceMfa: source.forceMfa };
      const role = await this.store(tx, axis, fields, permissions);
      const details = { sourceRoleId: sourceId, sourceRoleName: source.name, permissions };
      await this.audit.record(tx, caller, 'role.clone', resourceOf(role), details);
      return role;
    });
  }

  private change<T>(
    caller: UserCaller,
    axis: UserAxis,
    work: (tx: TenantTransaction, tree: RoleTree) => Promise<T>,
  ): Promise<T> {
    return this.tenants.transaction(caller, async (tx) => {
      await this.lock.own(tx, axis.partnerId);
      return work(tx, await this.roles.tree(tx, axis));
    });
  }

  private async store(
    tx: TenantTransaction,
    axis: UserAxis,
    fields: RoleFields,
    permissions: readonly Permission[],
  ): Promise<RoleDto> {
    const id = await this.writer.insert(tx, axis, fields);
    await this.writer.setPermissions(tx, id, permissions);
    return this.stored(tx, axis, id);
  }

  private async stored(tx: TenantTransaction, axis: UserAxis, roleId: string): Promise<RoleDto> {
    const role = await this.roles.find(tx, axis, roleId);
    if (!role) throw new NotFoundError('Role');
    return toRoleDto(role);
  }

  private async custom(
    tx: TenantTransaction,
    axis: UserAxis,
    roleId: string,
    deed: 'modify' | 'delete',
  ): Promise<WholeRole> {
    const role = await this.roles.find(tx, axis, roleId);
    if (!role) throw new NotFoundError('Role');
    if (role.isSystem) throw new SystemRoleImmutable(deed);
    return role;
  }
}

const resourceOf = ({ id, name, partnerId, orgId }: Pick<RoleDto, 'id' | 'name' | 'partnerId' | 'orgId'>) => ({
  type: 'role',
  id,
  name,
  partnerId,
  orgId,
});

function differences(before: WholeRole, after: RoleFields, own: readonly Permission[]) {
  const added = own.filter((permission) => !before.permissions.includes(permission));
  const removed = before.permissions.filter((permission) => !own.includes(permission));
  return {
    ...(before.name !== after.name && { previousName: before.name }),
    ...(before.parentRoleId !== after.parentRoleId && {
      parentRoleId: { from: before.parentRoleId, to: after.parentRoleId },
    }),
    ...(before.forceMfa !== after.forceMfa && { forceMfa: { from: before.forceMfa, to: after.forceMfa } }),
    ...(added.length > 0 && { added }),
    ...(removed.length > 0 && { removed }),
  };
}
