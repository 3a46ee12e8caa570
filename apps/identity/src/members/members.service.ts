import { Inject, Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { NotFoundError } from '@rmm/service-kit';
import { toPage, type Paged } from '@rmm/validation';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import type { ListUsersDto } from './dto/list-members.dto.js';
import type { MemberScopeQueryDto } from './dto/member-scope-query.dto.js';
import type { UserDto } from './dto/member.dto.js';
import { MemberScopeService, type MemberScope } from './member-scope.service.js';
import { toUserDto } from './member.mapper.js';
import { MembersRepository } from './members.repository.js';
import { assertWithinSites } from './site-restriction.js';

/** Lists the members of a partner or an organization. @see docs/reference/users-and-roles.md */
@Injectable()
export class MembersService {
  constructor(
    private readonly scopes: MemberScopeService,
    private readonly members: MembersRepository,
    @Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig,
  ) {}

  /** Lists accepted members; callers restricted to sites see those restricted to no more. */
  async list(caller: UserCaller, query: ListUsersDto): Promise<Paged<UserDto>> {
    const scope = await this.scopes.resolve(caller, query);
    const page = await this.members.list(caller, scope, query);
    const users = page.rows.map((row) => toUserDto(row, page, scope, this.config.mfa));
    return toPage(query, page, users);
  }

  /** @throws NotFoundError also for a user of another tenant; SiteAccessDenied */
  async get(caller: UserCaller, userId: string, named: MemberScopeQueryDto): Promise<UserDto> {
    return this.getIn(caller, await this.scopes.resolve(caller, named), userId);
  }

  /** @throws NotFoundError, SiteAccessDenied */
  async getIn(caller: UserCaller, scope: MemberScope, userId: string): Promise<UserDto> {
    const page = await this.members.find(caller, scope, userId);
    const [row] = page.rows;
    if (!row) throw new NotFoundError('User');
    assertWithinSites(caller, row);
    return toUserDto(row, page, scope, this.config.mfa);
  }
}
