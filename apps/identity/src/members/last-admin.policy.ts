import type { SqlExecutor } from '@rmm/persistence';
import type { MemberScope } from './member-scope.service.js';
import { LastAdmin } from './member.errors.js';
import { isAdminRole, type LockedMember, type MembersRepository } from './members.repository.js';

/**
 * Checks that a partner has another administrator before a member loses its role, its access or its membership: one with
 * the admin role and access to all organizations. Of concurrent changes each sees those before it.
 * @throws LastAdmin
 */
export async function assertAnotherAdmin(
  tx: SqlExecutor,
  members: Pick<MembersRepository, 'hasAnotherAdmin'>,
  {
    scope,
    userId,
    member,
  }: { scope: MemberScope; userId: string; member: Pick<LockedMember, 'systemKey' | 'orgAccess'> },
): Promise<void> {
  if (scope.kind !== 'partner' || !isAdminRole(member) || member.orgAccess !== 'all') return;
  if (!(await members.hasAnotherAdmin(tx, scope.partnerId, userId))) throw new LastAdmin();
}
