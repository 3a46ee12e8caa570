import { Injectable } from '@nestjs/common';
import { DenialAuditService } from '@rmm/access';
import type { AuditAction } from '@rmm/contracts';
import type { AuditedCaller } from '@rmm/messaging';
import { currentContext, type DomainError } from '@rmm/service-kit';
import { selfCaller, unknownCaller } from '../audit/actors.js';
import type { User } from '../users/user.types.js';
import { LoginMetrics } from './login.metrics.js';
import { SessionsService } from './sessions.service.js';

type ErrorClass = abstract new (...args: never[]) => DomainError;

export interface RefusedAttempt {
  /** `access.denied` unless said otherwise. */
  action?: AuditAction;
  /** Error code of the response. */
  code: string;
  /** `POST /api/v1/auth/refresh` */
  route: string;
}

/**
 * Audits attempts on public routes that are refused before there is a caller. Repeats of a client are written as one
 * entry a minute, so that a flood does not fill the audit trail. Never throws: the response does not depend on it.
 * @see docs/reference/audit.md
 */
@Injectable()
export class RefusedAttemptsService {
  constructor(
    private readonly denials: DenialAuditService,
    private readonly sessions: SessionsService,
    private readonly logins: LoginMetrics,
  ) {}

  /** Records an attempt under the owner of a refresh token, without an actor when the token is unknown. */
  async recordForToken(refreshToken: string | undefined, attempt: RefusedAttempt): Promise<void> {
    if (currentContext()?.audited) return;
    const owner = refreshToken === undefined ? null : await this.findOwner(refreshToken);
    this.record(owner ? selfCaller({ id: owner.userId, email: owner.email }, owner) : unknownCaller(), attempt);
  }

  /** Records an attempt on the account of a user; without an actor when the user is not known. */
  recordForUser(user: User | null, attempt: RefusedAttempt): void {
    this.record(user ? selfCaller(user, user.memberships[0] ?? null) : unknownCaller(), attempt);
  }

  /** Runs `work` and records the named errors as attempts without an actor. */
  async auditing<T>(
    { errors, ...attempt }: Omit<RefusedAttempt, 'code'> & { errors: readonly ErrorClass[] },
    work: () => Promise<T>,
  ): Promise<T> {
    try {
      return await work();
    } catch (error) {
      const refused = errors.find((type) => error instanceof type);
      if (refused) this.record(unknownCaller(), { ...attempt, code: (error as DomainError).code });
      throw error;
    }
  }

  private record(caller: AuditedCaller, { action = 'access.denied', code, route }: RefusedAttempt): void {
    if (action === 'user.login.failed') this.logins.countLogin('mfa', code);
    this.denials.record({ caller, action, code, route });
  }

  private findOwner(refreshToken: string) {
    return this.sessions.findRefreshTokenOwner(refreshToken).catch(() => null);
  }
}
