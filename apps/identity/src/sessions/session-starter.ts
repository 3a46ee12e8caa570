import { Injectable } from '@nestjs/common';
import type { UserLogin } from '@rmm/contracts';
import { AuditTrail, Outbox, type OutboxTransaction } from '@rmm/messaging';
import { actorOf, selfCaller } from '../audit/actors.js';
import { MfaGrace } from '../mfa/mfa-grace.js';
import type { MfaVerdict } from '../mfa/mfa-policy.js';
import { KnownDevices } from './known-devices.js';
import { SessionOpener, type IssuedSession, type OpenedSession, type SessionOptions } from './session-opener.js';
import { toLoginUser, type UserMembership, type User } from '../users/user.js';
import type { LoginBodyDto } from '../login/login-body.dto.js';

/** A login that is stored: `finish` makes the answer after the commit. */
export interface StartedSession {
  user: User;
  opened: OpenedSession;
  verdict: MfaVerdict;
}

/** The answer to a client, and the session its cookies carry. */
export interface FinishedLogin {
  body: LoginBodyDto;
  session: IssuedSession;
}

const ENROLL_URL = '/auth/mfa/setup';

/** What every way of signing in ends with: window, family, last login, device, audit row, event. */
@Injectable()
export class SessionStarter {
  constructor(
    private readonly opener: SessionOpener,
    private readonly grace: MfaGrace,
    private readonly devices: KnownDevices,
    private readonly audit: AuditTrail,
    private readonly outbox: Outbox,
  ) {}

  /** In the transaction that decided the login. */
  async start(
    tx: OutboxTransaction,
    user: User,
    membership: UserMembership,
    options: SessionOptions,
  ): Promise<StartedSession> {
    const verdict = await this.grace.openIfDue(tx, user, membership);
    const mfa = this.opener.carriesMfa(options);
    const self = { type: 'user', id: user.id, name: user.name };
    // None of them waits for another: they leave together, and the database is woken once.
    const [opened] = await Promise.all([
      this.opener.open(tx, user, membership, options),
      tx.query('update user_account set last_login_at = now() where id = $1', [user.id]),
      this.devices.note(tx, user, options.method),
      this.audit.record(tx, selfCaller(user, membership), 'user.login', self, { method: options.method, mfa }),
      this.tellWebhooks(tx, user, membership, options, mfa),
    ]);
    return { user, opened, verdict };
  }

  /** After the commit: signs the access token and makes the login body. */
  async finish({ user, opened, verdict }: StartedSession): Promise<FinishedLogin> {
    const session = await this.opener.issue(opened);
    const { enrollmentRequired, deadline, status } = verdict;
    return {
      session,
      body: {
        user: toLoginUser(user),
        tokens: session.tokens,
        csrfToken: session.csrfToken,
        mfaRequired: false,
        requiresSetup: user.requiresSetup,
        mfaEnrollmentRequired: enrollmentRequired,
        ...(enrollmentRequired && { enrollUrl: ENROLL_URL }),
        mfaEnrollmentDeadline: status === 'pending' ? (deadline?.toISOString() ?? null) : null,
      },
    };
  }

  /** Webhooks belong to organizations: only sessions with one are told of. */
  private async tellWebhooks(
    tx: OutboxTransaction,
    user: User,
    { partnerId, orgId }: UserMembership,
    { method }: SessionOptions,
    mfa: boolean,
  ): Promise<void> {
    if (orgId === null || method === 'registration') return;
    const data: UserLogin = { userId: user.id, email: user.email, mfa, method };
    await this.outbox.publish(tx, {
      stream: 'events',
      type: 'user.login',
      aggregateId: user.id,
      partnerId,
      orgId,
      actor: actorOf(user),
      data,
    });
  }
}
