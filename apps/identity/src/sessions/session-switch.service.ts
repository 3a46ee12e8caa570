import { Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { WorkerDatabase } from '@rmm/persistence';
import { NotFoundError, UnauthenticatedError, ValidationError } from '@rmm/service-kit';
import type { LoginUserDto } from '../users/dto/login-user.dto.js';
import { toLoginUser, type UserMembership } from '../users/user.js';
import { UsersRepository } from '../users/users.repository.js';
import type { SwitchSessionDto } from './dto/switch-session.dto.js';
import { LoginSessionsService } from './login-sessions.service.js';
import type { IssuedSession } from './sessions.service.js';

/** Moves a client to another membership of its user. @see docs/reference/authentication.md */
@Injectable()
export class SessionSwitchService {
  constructor(
    private readonly worker: WorkerDatabase,
    private readonly users: UsersRepository,
    private readonly logins: LoginSessionsService,
  ) {}

  /**
   * Ends the caller's session and issues one in another membership of the same user, with the same verified factor.
   * @throws NotFoundError when the caller has no such membership; ValidationError unless exactly one is named;
   *   IpNotAllowed
   */
  async switchMembership(
    caller: UserCaller,
    dto: SwitchSessionDto,
  ): Promise<{ user: LoginUserDto; session: IssuedSession }> {
    if (Object.values(dto).filter((value) => value !== undefined).length !== 1) {
      throw ValidationError.forField('orgId', 'name orgId, partnerId or scope, one of them');
    }
    const user = await this.users.findById(this.worker, caller.userId);
    if (!user) throw new UnauthenticatedError();
    const membership = user.memberships.find((candidate) => isNamed(candidate, dto));
    if (!membership) throw new NotFoundError('Membership');
    await this.logins.assertAddressAllowed(user, membership);
    const started = await this.worker.transaction((tx) => this.logins.reenter(tx, caller, user, membership));
    return { user: toLoginUser(user), session: (await this.logins.finish(started)).session };
  }
}

function isNamed({ scope, orgId, partnerId }: UserMembership, named: SwitchSessionDto): boolean {
  if (named.scope !== undefined) return scope === 'system';
  return named.orgId === undefined
    ? scope === 'partner' && partnerId === named.partnerId
    : scope === 'organization' && orgId === named.orgId;
}
