import { Inject, Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { NotFoundError, toPage, type Paged } from '@rmm/service-kit';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import { judgeMfa } from '../mfa/mfa-policy.js';
import type { AxisQueryDto, ListUsersDto } from './dto/dto.js';
import { MembersRepository, type MemberPage, type MemberRow } from './members.repository.js';
import { MemberScopeService, type MemberScope } from './member-scope.service.js';
import type { UserDto } from './dto/member.dto.js';

/** Members of the caller's tenant. */
@Injectable()
export class MembersService {
  constructor(
    private readonly axes: MemberScopeService,
    private readonly members: MembersRepository,
    @Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig,
  ) {}

  async list(caller: UserCaller, query: ListUsersDto): Promise<Paged<UserDto>> {
    const axis = await this.axes.of(caller, query);
    const found = await this.members.page(caller, axis, query);
    return toPage(
      query,
      found.total,
      found.rows.map((row) => this.toDto(row, found, axis)),
    );
  }

  /** @throws NotFoundError also for users of other tenants */
  async get(caller: UserCaller, id: string, query: AxisQueryDto): Promise<UserDto> {
    const axis = await this.axes.of(caller, query);
    const found = await this.members.page(caller, axis, { page: 1, limit: 1 }, id);
    const [row] = found.rows;
    if (!row) throw new NotFoundError('User');
    return this.toDto(row, found, axis);
  }

  private toDto(row: MemberRow, found: MemberPage, axis: MemberScope): UserDto {
    const date = (text: string | null) => (text === null ? null : new Date(text));
    const { status, deadline } = judgeMfa(
      {
        scope: axis.kind,
        roleForcesMfa: row.roleForcesMfa,
        partnerSecurity: found.partnerSecurity,
        organizationSecurity: found.organizationSecurity,
        hasFactor: row.mfaEnabled,
        everHadFactor: row.everHadFactor,
        graceGrantedAt: date(row.graceGrantedAt),
        enrollmentDeadline: date(row.enrollmentDeadline),
        now: found.now,
      },
      this.config.mfa,
    );
    return {
      id: row.id,
      email: row.email,
      name: row.name,
      status: row.status,
      lastLoginAt: date(row.lastLoginAt)?.toISOString() ?? null,
      mfaEnabled: row.mfaEnabled,
      mfaStatus: status,
      mfaEnrollmentDeadline: deadline?.toISOString() ?? null,
      roleId: row.roleId,
      roleName: row.roleName,
      ...(axis.kind === 'partner'
        ? { orgAccess: row.orgAccess, orgIds: row.orgIds }
        : { siteIds: row.siteIds, deviceGroupIds: row.deviceGroupIds }),
    };
  }
}
