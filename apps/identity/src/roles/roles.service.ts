import { Injectable } from '@nestjs/common';
import { isSiteRestricted, OrganizationAccessDenied, SiteAccessDenied, type UserCaller } from '@rmm/access';
import { AuditTrail } from '@rmm/messaging';
import { PERMISSION_VOCABULARY, type Permission } from '@rmm/permissions';
import { TenantDatabase, type TenantTransaction } from '@rmm/persistence';
import { assertIfMatch, NotFoundError, ValidationError } from '@rmm/service-kit';
import { toPage, type Paged } from '@rmm/validation';
import { AccessChangesService } from '../access/access-changes.service.js';
import type { MemberScopeQueryDto } from '../members/dto/member-scope-query.dto.js';
import { MemberScopeService, type MemberScope } from '../members/member-scope.service.js';
import type { CloneRoleDto } from './dto/clone-role.dto.js';
import type { CreateRoleDto } from './dto/create-role.dto.js';
import type { EffectivePermissionsDto } from './dto/effective-permissions.dto.js';
import type { ListRolesDto } from './dto/list-roles.dto.js';
import type { AvailablePermissionsDto } from './dto/permission-catalog.dto.js';
import type { AssignableRoleDto, RoleDto, RoleListItemDto, RoleUserDto } from './dto/role.dto.js';
import type { UpdateRoleDto } from './dto/update-role.dto.js';
import { RoleGrantPolicy } from './role-grant.policy.js';
import type { RoleTree } from './role-tree.js';
import { RoleHasChildren, RoleHasUsers, TooManyRoles, SystemRoleImmutable } from './role.errors.js';
import {
  toAssignableRole,
  toEffectivePermission,
  toKnownPermissions,
  toRoleDto,
  toRoleListItem,
  toRoleUser,
} from './role.mapper.js';
import { RolesRepository, type RoleFields, type RoleWithPermissions } from './roles.repository.js';

/** Custom roles of one partner or organization; bounds the announcement of a change, which names all that inherit it. */
const MAX_CUSTOM_ROLES = 500;

/** Roles of a partner or an organization. No custom role grants what its editor does not have. */
@Injectable()
export class RolesService {
  constructor(
    private readonly tenants: TenantDatabase,
    private readonly scopes: MemberScopeService,
    private readonly roles: RolesRepository,
    private readonly grants: RoleGrantPolicy,
    private readonly audit: AuditTrail,
    private readonly accessChanges: AccessChangesService,
  ) {}

  /** Lists roles with the number of their users whom the caller can see. */
  async list(caller: UserCaller, query: ListRolesDto): Promise<Paged<RoleListItemDto>> {
    const { rows, ...counted } = await this.roles.list(caller, await this.resolveScope(caller, query), query);
    return toPage(query, counted, rows.map(toRoleListItem));
  }

  /** Lists the roles that can be assigned to a member. */
  async listAssignable(caller: UserCaller, query: ListRolesDto): Promise<Paged<AssignableRoleDto>> {
    const { rows, ...counted } = await this.roles.list(caller, await this.resolveScope(caller, query), query);
    return toPage(query, counted, rows.map(toAssignableRole));
  }

  /** @throws NotFoundError also for a role of another tenant */
  async get(caller: UserCaller, roleId: string, named: MemberScopeQueryDto): Promise<RoleDto> {
    const scope = await this.resolveRoleScope(caller, roleId, named);
    return toRoleDto(await this.roles.get(caller, scope, roleId));
  }

  /** Lists the users who have a role, as far as the caller can see them. @throws NotFoundError */
  async listUsers(caller: UserCaller, roleId: string, query: ListRolesDto): Promise<Paged<RoleUserDto>> {
    const scope = await this.resolveRoleScope(caller, roleId, query);
    await this.roles.get(caller, scope, roleId);
    const { rows, ...counted } = await this.roles.listUsers(caller, scope, roleId, query);
    return toPage(query, counted, rows.map(toRoleUser));
  }

  /** Returns all permissions of a role with the source of each. @throws NotFoundError */
  async getEffectivePermissions(
    caller: UserCaller,
    roleId: string,
    named: MemberScopeQueryDto,
  ): Promise<EffectivePermissionsDto> {
    const scope = await this.resolveRoleScope(caller, roleId, named);
    const tree = await this.roles.getTree(caller, scope);
    const chain = tree.getChain(roleId);
    const [role] = chain;
    if (!role) throw new NotFoundError('Role');
    return {
      roleId: role.id,
      roleName: role.name,
      inheritanceChain: chain.map(({ id, name }) => ({ id, name })),
      permissions: tree.getEffective(roleId).map(toEffectivePermission),
    };
  }

  listAvailablePermissions(): AvailablePermissionsDto {
    const actions = Object.values(PERMISSION_VOCABULARY).flat();
    return { resources: Object.keys(PERMISSION_VOCABULARY), actions: [...new Set(actions)].sort() };
  }

  /** @throws ValidationError, PermissionNotDelegable, SiteAccessDenied, InvalidParentRole, InheritanceTooDeep, TooManyRoles */
  async create(caller: UserCaller, dto: CreateRoleDto): Promise<RoleDto> {
    const permissions = toKnownPermissions(dto.permissions ?? []);
    const scope = await this.resolveScope(caller, dto);
    return this.changeRoles({ caller, scope, needs: 'users:write' }, async (tx, tree, current) => {
      const { name, description = null, parentRoleId = null, forceMfa = false } = dto;
      if (parentRoleId !== null) tree.assertParent(null, parentRoleId);
      this.grants.assertCanGrant(current, tree.combine(permissions, parentRoleId));
      const role = await this.store(tx, scope, { name, description, parentRoleId, forceMfa }, permissions);
      await this.audit.record(tx, caller, 'role.create', resourceOf(role), { permissions, parentRoleId, forceMfa });
      return role;
    });
  }

  /**
   * Updates a custom role. A change of its permissions, parent or MFA requirement needs all permissions it granted
   * before and will grant; a new name or description needs none of them.
   * @throws NotFoundError, SystemRoleImmutable, RecordChanged, CircularInheritance, InheritanceTooDeep, PermissionNotDelegable
   */
  async update(caller: UserCaller, roleId: string, dto: UpdateRoleDto): Promise<RoleDto> {
    const { orgId, partnerId, ...fields } = dto;
    if (Object.values(fields).every((value) => value === undefined)) {
      throw ValidationError.forField('body', 'names no field to change');
    }
    const newPermissions = fields.permissions && toKnownPermissions(fields.permissions);
    const scope = await this.resolveRoleScope(caller, roleId, { orgId, partnerId });
    return this.changeRoles({ caller, scope, needs: 'users:write' }, async (tx, tree, current) => {
      const before = await this.getCustom(tx, scope, roleId, 'modify');
      const after = mergeFields(before, fields);
      const permissions = newPermissions ?? before.permissions;
      if (after.parentRoleId !== null && after.parentRoleId !== before.parentRoleId) {
        tree.assertParent(roleId, after.parentRoleId);
      }
      if (newPermissions || fields.parentRoleId !== undefined || fields.forceMfa !== undefined) {
        this.grants.assertCanGrant(current, tree.combine(before.permissions, before.parentRoleId));
        this.grants.assertCanGrant(current, tree.combine(permissions, after.parentRoleId));
      }
      await this.roles.change(tx, before, after);
      if (newPermissions) await this.roles.setPermissions(tx, roleId, permissions);
      const roleIds = [roleId, ...tree.listDescendants(roleId)];
      const { partnerId } = scope;
      const tenant = scope.kind === 'organization' ? { partnerId, orgId: scope.orgId } : { partnerId };
      await this.accessChanges.publish(tx, { roleIds, ...tenant, reason: 'role_changed' });
      const changed = Object.keys(fields).filter((key) => key in dto);
      const details = { fields: changed, ...differences(before, after, permissions) };
      await this.audit.record(tx, caller, 'role.update', resourceOf({ ...before, name: after.name }), details);
      return toRoleDto(await this.roles.get(tx, scope, roleId));
    });
  }

  /** @throws NotFoundError, SystemRoleImmutable, RecordChanged, RoleHasUsers, RoleHasChildren */
  async remove(caller: UserCaller, roleId: string, named: MemberScopeQueryDto): Promise<void> {
    const scope = await this.resolveRoleScope(caller, roleId, named);
    await this.changeRoles({ caller, scope, needs: 'users:delete' }, async (tx) => {
      const role = await this.getCustom(tx, scope, roleId, 'delete');
      const { userCount, childRoleCount } = await this.roles.lockForRemoval(tx, roleId);
      if (userCount > 0) throw new RoleHasUsers(userCount);
      if (childRoleCount > 0) throw new RoleHasChildren(childRoleCount);
      await this.roles.remove(tx, roleId);
      const details = { permissions: role.permissions, parentRoleId: role.parentRoleId };
      await this.audit.record(tx, caller, 'role.delete', resourceOf(role), details);
    });
  }

  /** Creates a custom role with every permission the source grants, inherited ones included. */
  async clone(caller: UserCaller, sourceId: string, { name, ...named }: CloneRoleDto): Promise<RoleDto> {
    const scope = await this.resolveRoleScope(caller, sourceId, named);
    return this.changeRoles({ caller, scope, needs: 'users:write' }, async (tx, tree, current) => {
      const source = await this.roles.get(tx, scope, sourceId);
      const permissions = tree.getEffective(sourceId).map(({ permission }) => permission);
      this.grants.assertCanGrant(current, permissions);
      const description = `Copy of ${source.name}`;
      const fields = { name, description, parentRoleId: null, forceMfa: source.forceMfa };
      const role = await this.store(tx, scope, fields, permissions);
      const details = { sourceRoleId: sourceId, sourceRoleName: source.name, permissions };
      await this.audit.record(tx, caller, 'role.clone', resourceOf(role), details);
      return role;
    });
  }

  /** @param work  receives the caller with the permissions it has once the lock is held */
  private changeRoles<T>(
    { caller, scope, needs }: { caller: UserCaller; scope: MemberScope; needs: Permission },
    work: (tx: TenantTransaction, tree: RoleTree, current: UserCaller) => Promise<T>,
  ): Promise<T> {
    return this.tenants.transaction(caller, async (tx) => {
      await this.roles.lockForChange(tx, scope.partnerId);
      const current = await this.grants.refreshCaller(tx, caller, needs);
      if (isSiteRestricted(current)) throw new SiteAccessDenied(); // a role counts in the whole organization
      return work(tx, await this.roles.getTree(tx, scope), current);
    });
  }

  private async store(
    tx: TenantTransaction,
    scope: MemberScope,
    fields: RoleFields,
    permissions: readonly Permission[],
  ): Promise<RoleDto> {
    if ((await this.roles.countCustom(tx, scope)) >= MAX_CUSTOM_ROLES) throw new TooManyRoles(MAX_CUSTOM_ROLES);
    const { id } = await this.roles.create(tx, scope, fields);
    await this.roles.setPermissions(tx, id, permissions);
    return toRoleDto(await this.roles.get(tx, scope, id));
  }

  /** Returns a custom role that `If-Match` allows to change. @throws NotFoundError, SystemRoleImmutable, RecordChanged */
  private async getCustom(
    tx: TenantTransaction,
    scope: MemberScope,
    roleId: string,
    action: 'modify' | 'delete',
  ): Promise<RoleWithPermissions> {
    const role = await this.roles.get(tx, scope, roleId);
    if (role.isSystem) throw new SystemRoleImmutable(action);
    await assertIfMatch(() => toRoleDto(role));
    return role;
  }

  private resolveScope(caller: UserCaller, { orgId, partnerId }: MemberScopeQueryDto): Promise<MemberScope> {
    return this.scopes.resolve(caller, { orgId, partnerId });
  }

  /**
   * Returns the named scope, else that of the role itself.
   * @throws NotFoundError for a role the caller cannot see
   */
  private async resolveRoleScope(caller: UserCaller, roleId: string, named: MemberScopeQueryDto): Promise<MemberScope> {
    const { partnerId, orgId } = await this.roles.getAnywhere(caller, roleId);
    if (named.orgId !== undefined || named.partnerId !== undefined || partnerId === null) {
      return this.resolveScope(caller, named);
    }
    try {
      return await this.scopes.resolve(caller, orgId === null ? { partnerId } : { orgId });
    } catch (error) {
      if (error instanceof OrganizationAccessDenied) throw new NotFoundError('Role', { cause: error });
      throw error;
    }
  }
}

const resourceOf = ({ id, name, partnerId, orgId }: Pick<RoleDto, 'id' | 'name' | 'partnerId' | 'orgId'>) => ({
  type: 'role',
  id,
  name,
  partnerId,
  orgId,
});

const mergeFields = (before: RoleFields, fields: UpdateRoleDto): RoleFields => ({
  name: fields.name ?? before.name,
  description: fields.description === undefined ? before.description : fields.description,
  parentRoleId: fields.parentRoleId === undefined ? before.parentRoleId : fields.parentRoleId,
  forceMfa: fields.forceMfa ?? before.forceMfa,
});

function differences(before: RoleWithPermissions, after: RoleFields, permissions: readonly Permission[]) {
  const added = permissions.filter((permission) => !before.permissions.includes(permission));
  const removed = before.permissions.filter((permission) => !permissions.includes(permission));
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
