import { Injectable } from '@nestjs/common';
import type { UserLogin } from '@rmm/contracts';
import { AuditTrail, Outbox, type OutboxTransaction } from '@rmm/messaging';
import { actorOf, selfCaller } from '../audit/actors.js';
import type { LoginBodyDto } from '../login/dto/login-body.dto.js';
import { MfaGrace } from '../mfa/mfa-grace.service.js';
import type { MfaDecision } from '../mfa/mfa-policy.js';
import { toLoginUser, type User, type UserMembership } from '../users/user.js';
import { KnownDevices } from './known-devices.service.js';
import { SessionsRepository } from './sessions.repository.js';
import { SessionsService, type IssuedSession, type SessionOptions, type StoredSession } from './sessions.service.js';

/** A login that is stored; `finish` creates its response after the commit. */
export interface StartedLogin {
  user: User;
  session: StoredSession;
  mfa: MfaDecision;
}

/** The body of the response, and the session for its cookies. */
export interface FinishedLogin {
  body: LoginBodyDto;
  session: IssuedSession;
}

const ENROLL_URL = '/auth/mfa/setup';

/**
 * Completes every way of signing in: opens the enrollment window when due, stores session and device, and publishes
 * audit entry and event.
 */
@Injectable()
export class LoginSessions {
  constructor(
    private readonly sessions: SessionsService,
    private readonly repository: SessionsRepository,
    private readonly grace: MfaGrace,
    private readonly devices: KnownDevices,
    private readonly audit: AuditTrail,
    private readonly outbox: Outbox,
  ) {}

  /** Stores the login, in the transaction that decided it. */
  async start(
    tx: OutboxTransaction,
    user: User,
    membership: UserMembership,
    options: SessionOptions,
  ): Promise<StartedLogin> {
    const decision = await this.grace.openIfDue(tx, user, membership);
    const mfa = this.sessions.hasMfaClaim(options);
    const self = { type: 'user', id: user.id, name: user.name };
    // The statements do not depend on each other, so they are sent in one round trip.
    const [session] = await Promise.all([
      this.sessions.create(tx, user, membership, options),
      this.repository.recordLogin(tx, user.id),
      this.devices.remember(tx, user, options.method),
      this.audit.record(tx, selfCaller(user, membership), 'user.login', self, { method: options.method, mfa }),
      this.publishLogin(tx, user, membership, options, mfa),
    ]);
    return { user, session, mfa: decision };
  }

  /** Signs the access token and creates the login body; after the commit. */
  async finish({ user, session: stored, mfa }: StartedLogin): Promise<FinishedLogin> {
    const session = await this.sessions.issue(stored);
    const { enrollmentRequired, deadline, status } = mfa;
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

  /** Publishes `user.login` for sessions in an organization: webhooks belong to organizations. */
  private async publishLogin(
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
