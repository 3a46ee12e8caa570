import { Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { splitPermission, PERMISSION_VOCABULARY } from '@rmm/permissions';
import { TenantDatabase } from '@rmm/persistence';
import { NotFoundError, toPage, type PageQueryDto, type Paged } from '@rmm/service-kit';
import type { AxisQueryDto, ListRolesDto } from '../users/dto.js';
import { RoleAxes } from './role-axes.js';
import type {
  AssignableRoleDto,
  AvailablePermissionsDto,
  EffectivePermissionsDto,
  RoleDto,
  RoleListItemDto,
  RoleUserDto,
} from './role.dto.js';
import { RolesRepository, type RoleRow, type WholeRole } from './roles.repository.js';

/** Roles as the caller's axis sees them. */
@Injectable()
export class RolesService {
  constructor(
    private readonly tenants: TenantDatabase,
    private readonly axes: RoleAxes,
    private readonly roles: RolesRepository,
  ) {}

  /** With user counts inside the caller's reach. */
  async list(caller: UserCaller, query: ListRolesDto): Promise<Paged<RoleListItemDto>> {
    const { total, rows } = await this.roles.page(caller, await this.axes.named(caller, query), query);
    return toPage(query, total, rows.map(toRoleListItem));
  }

  /** What may be chosen for a member. */
  async listAssignable(caller: UserCaller, query: ListRolesDto): Promise<Paged<AssignableRoleDto>> {
    const { total, rows } = await this.roles.page(caller, await this.axes.named(caller, query), query);
    const items = rows.map(({ id, name, description, scope, isSystem }) => ({
      id,
      name,
      description,
      scope,
      isSystem,
    }));
    return toPage(query, total, items);
  }

  /** @throws NotFoundError also for roles of other tenants */
  async get(caller: UserCaller, roleId: string, named: AxisQueryDto): Promise<RoleDto> {
    const axis = await this.axes.ofRole(caller, roleId, named);
    const role = await this.roles.find(this.tenants.reader(caller), axis, roleId);
    if (!role) throw new NotFoundError('Role');
    return toRoleDto(role);
  }

  /** Who holds a role, inside the caller's reach. */
  async users(caller: UserCaller, roleId: string, query: AxisQueryDto & PageQueryDto): Promise<Paged<RoleUserDto>> {
    const axis = await this.axes.ofRole(caller, roleId, query);
    if (!(await this.roles.find(this.tenants.reader(caller), axis, roleId))) throw new NotFoundError('Role');
    const { total, rows } = await this.roles.users(caller, axis, roleId, query);
    const items = rows.map(({ id, name, email, status, lastLoginAt }) => ({
      id,
      name,
      email,
      status,
      lastLoginAt: lastLoginAt === null ? null : new Date(lastLoginAt).toISOString(),
    }));
    return toPage(query, total, items);
  }

  /** What a role gives in all, with the source of each pair. */
  async effective(caller: UserCaller, roleId: string, named: AxisQueryDto): Promise<EffectivePermissionsDto> {
    const axis = await this.axes.ofRole(caller, roleId, named);
    const tree = await this.roles.tree(this.tenants.reader(caller), axis);
    const chain = tree.chain(roleId);
    const [role] = chain;
    if (!role) throw new NotFoundError('Role');
    return {
      roleId: role.id,
      roleName: role.name,
      inheritanceChain: chain.map(({ id, name }) => ({ id, name })),
      permissions: tree.effective(roleId).map(({ permission, inherited, sourceRoleId, sourceRoleName }) => ({
        ...splitPermission(permission),
        inherited,
        sourceRoleId,
        sourceRoleName,
      })),
    };
  }

  available(): AvailablePermissionsDto {
    const actions = Object.values(PERMISSION_VOCABULARY).flat();
    return { resources: Object.keys(PERMISSION_VOCABULARY), actions: [...new Set(actions)].sort() };
  }
}

const toRoleListItem = (role: RoleRow): RoleListItemDto => ({
  id: role.id,
  name: role.name,
  description: role.description,
  scope: role.scope,
  isSystem: role.isSystem,
  forceMfa: role.forceMfa,
  partnerId: role.partnerId,
  orgId: role.orgId,
  parentRoleId: role.parentRoleId,
  parentRoleName: role.parentRoleName,
  userCount: Number(role.userCount),
  createdAt: new Date(role.createdAt).toISOString(),
  updatedAt: new Date(role.updatedAt).toISOString(),
});

export const toRoleDto = (role: WholeRole): RoleDto => ({
  ...toRoleListItem(role),
  permissions: role.permissions.map(splitPermission),
});
