import { Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { toPage, type Paged } from '@rmm/service-kit';
import type { ListRolesDto } from '../users/dto.js';
import { UserAxes } from '../users/user-axis.js';
import type { AssignableRoleDto, RoleListItemDto } from './role.dto.js';
import { RolesRepository, type RoleRow } from './roles.repository.js';

/** Roles as the caller's axis sees them. */
@Injectable()
export class RolesService {
  constructor(
    private readonly axes: UserAxes,
    private readonly roles: RolesRepository,
  ) {}

  /** With user counts inside the caller's reach. */
  async list(caller: UserCaller, query: ListRolesDto): Promise<Paged<RoleListItemDto>> {
    const { total, rows } = await this.roles.page(caller, await this.axes.of(caller, query), query);
    return toPage(query, total, rows.map(toRoleListItem));
  }

  /** What may be chosen for a member. */
  async listAssignable(caller: UserCaller, query: ListRolesDto): Promise<Paged<AssignableRoleDto>> {
    const { total, rows } = await this.roles.page(caller, await this.axes.of(caller, query), query);
    const items = rows.map(({ id, name, description, scope, isSystem }) => ({
      id,
      name,
      description,
      scope,
      isSystem,
    }));
    return toPage(query, total, items);
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
