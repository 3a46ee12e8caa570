import { Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { MAX_PARENT_DEPTH, missingFrom, type Permission } from '@rmm/permissions';
import type { WorkerTransaction } from '@rmm/persistence';
import { NotFoundError } from '@rmm/service-kit';
import type { MembershipKey } from '../memberships/membership.js';
import { PermissionNotDelegable } from '../roles/grants.js';
import { PeopleRepository } from '../users/people.repository.js';
import type { Person } from '../users/person.js';
import { MfaNotEnabled, UserInOtherTenants } from './mfa.errors.js';

/** What all of some roles give together, with those of their parent chains. */
const PERMISSIONS = `
  with recursive chain as (
    select r.id, r.parent_role_id, 0 as depth from role r where r.id = any($1::uuid[])
    union all
    select p.id, p.parent_role_id, c.depth + 1 from role p join chain c on p.id = c.parent_role_id
    where c.depth < ${MAX_PARENT_DEPTH}
  )
  select coalesce(array_agg(distinct p.resource || ':' || p.action), '{}') as permissions
  from chain c join role_permission rp on rp.role_id = c.id join permission p on p.id = rp.permission_id`;

/** Whose factor an administrator may take: a person is global, so one tenant must not reach into another through it. */
@Injectable()
export class ResetTargets {
  constructor(private readonly people: PeopleRepository) {}

  /**
   * Holds the account, so that no membership is added meanwhile, and judges it.
   * @throws UserInOtherTenants unless every membership is inside the caller's reach; PermissionNotDelegable when the
   *   person may do what the caller may not; MfaNotEnabled; NotFoundError
   */
  async hold(tx: WorkerTransaction, caller: UserCaller, userId: string): Promise<Person> {
    await tx.query('select id from user_account where id = $1 for update', [userId]);
    const person = await this.people.findById(tx, userId);
    if (!person) throw new NotFoundError('User');
    if (!person.memberships.every((membership) => reaches(caller, membership))) throw new UserInOtherTenants();
    await this.assertNotAbove(tx, caller, person);
    if (!person.mfaEnabled) throw new MfaNotEnabled();
    return person;
  }

  /** Otherwise a lesser administrator weakens a greater account first and takes it afterwards. */
  private async assertNotAbove(tx: WorkerTransaction, caller: UserCaller, { memberships }: Person): Promise<void> {
    const roleIds = memberships.map(({ roleId }) => roleId);
    const [row] = await tx.query<{ permissions: Permission[] }>(PERMISSIONS, [roleIds]);
    if (missingFrom(caller.permissions, row?.permissions ?? []).length > 0) throw new PermissionNotDelegable();
  }
}

function reaches({ scope, partnerId, orgId }: UserCaller, membership: MembershipKey): boolean {
  if (scope === 'system') return true;
  if (membership.scope === 'system' || membership.partnerId !== partnerId) return false;
  return scope === 'partner' || (membership.scope === 'organization' && membership.orgId === orgId);
}
