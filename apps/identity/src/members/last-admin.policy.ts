import { Injectable } from '@nestjs/common';
import type { SqlExecutor } from '@rmm/persistence';
import type { MemberScope } from './member-scope.service.js';
import { LastAdmin } from './member.errors.js';
import { isAdminRole, MembersRepository, type LockedMember } from './members.repository.js';

/** A partner keeps at least one administrator who can manage it: with the admin role and access to all organizations. */
@Injectable()
export class LastAdminPolicy {
  constructor(private readonly members: MembersRepository) {}

  /**
   * Checks that a partner has another administrator before a member loses its role, its access or its membership. Of
   * concurrent changes each sees those before it.
   * @throws LastAdmin
   */
  async assertAnother(
    tx: SqlExecutor,
    scope: MemberScope,
    userId: string,
    member: Pick<LockedMember, 'systemKey' | 'orgAccess'>,
  ): Promise<void> {
    if (scope.kind !== 'partner' || !isAdminRole(member) || member.orgAccess !== 'all') return;
    if (!(await this.members.hasAnotherAdmin(tx, scope.partnerId, userId))) throw new LastAdmin();
  }
}
