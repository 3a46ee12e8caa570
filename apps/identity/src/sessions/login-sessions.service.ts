import { Injectable } from '@nestjs/common';
import { createHash } from 'node:crypto';
import { IpNotAllowed, type UserCaller } from '@rmm/access';
import type { UserLogin } from '@rmm/contracts';
import { type AuditedCaller, type AuditedResource, Outbox, type OutboxTransaction } from '@rmm/messaging';
import { WorkerDatabase } from '@rmm/persistence';
import { addressBucket } from '@rmm/rate-limits';
import { currentContext, NotFoundError, UnauthenticatedError, ValidationError } from '@rmm/service-kit';
import { actorOf } from '../audit/actors.js';
import type { LoginBodyDto } from '../login/dto/login-body.dto.js';
import { MailService } from '../mail/mail.service.js';
import { MfaGraceService } from '../mfa/mfa-grace.service.js';
import type { MfaDecision } from '../mfa/mfa.policy.js';
import type { LoginUserDto } from '../users/dto/login-user.dto.js';
import { toLoginUser, type User, type UserMembership } from '../users/user.types.js';
import { isAddressAllowed, type EnteredTenant } from './address-list.policy.js';
import { deviceName } from './device-name.js';
import type { SwitchSessionDto } from './dto/switch-session.dto.js';
import { LoginAuditService, type LoginFailure } from './login-audit.service.js';
import type { LoginMethod } from './login.metrics.js';
import type { SessionMethod } from './session-family.entity.js';
import { SessionRevocationsService } from './session-revocations.service.js';
import { SwitchNotAllowed } from './session.errors.js';
import { SessionsRepository, type SsoOwner } from './sessions.repository.js';
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

/** Sign-ins by these methods follow a mail to the user, so no warning about a new device is sent. */
const WITHOUT_WARNING: readonly SessionMethod[] = ['invite', 'registration'];

/**
 * Completes every way of signing in, and moves sessions to other memberships: opens the enrollment window when due,
 * stores session and device, and publishes audit entry and event.
 */
@Injectable()
export class LoginSessionsService {
  constructor(
    private readonly worker: WorkerDatabase,
    private readonly sessions: SessionsService,
    private readonly repository: SessionsRepository,
    private readonly grace: MfaGraceService,
    private readonly mail: MailService,
    private readonly audit: LoginAuditService,
    private readonly outbox: Outbox,
    private readonly revocations: SessionRevocationsService,
  ) {}

  /** Checks the address of the request before a session enters the membership; outside of transactions. @throws IpNotAllowed */
  async assertAddressAllowed(user: Pick<User, 'id' | 'email'>, membership: EnteredTenant): Promise<void> {
    if (isAddressAllowed(membership, currentContext()?.ipAddress)) return;
    await this.audit.recordDeniedAddress(user, membership);
    throw new IpNotAllowed();
  }

  /** Records a refused login; see LoginAuditService. */
  recordFailure(
    caller: AuditedCaller,
    resource: AuditedResource,
    details: LoginFailure,
    counted: LoginMethod,
  ): Promise<void> {
    return this.audit.recordFailure(caller, resource, details, counted);
  }

  /**
   * Stores the login, in the transaction that decided it.
   * @throws UnauthenticatedError when the membership ended or the identity provider of the sign-in was changed meanwhile;
   *   SsoEnforced
   */
  async start(
    tx: OutboxTransaction,
    user: User,
    membership: UserMembership,
    options: SessionOptions,
  ): Promise<StartedLogin> {
    const { sso } = options;
    if (sso && !(await this.repository.lockSsoProvider(tx, sso))) throw new UnauthenticatedError();
    const decision = await this.grace.openIfDue(tx, user, membership);
    const factor = options.factor ?? user.mfaMethod;
    const mfa = this.sessions.hasMfaClaim(membership, { mfa: options.mfa, factor });
    // The statements do not depend on each other, so they are sent in one round trip.
    // They lock the account, then the membership: the order of all transactions that lock both.
    const [, session] = await Promise.all([
      this.repository.recordLogin(tx, user.id),
      this.sessions.create(tx, user, membership, options),
      this.rememberDevice(tx, user, options.method),
      this.audit.recordLogin(tx, user, membership, { method: options.method, mfa }),
      this.publishLogin(tx, user, membership, options, mfa),
    ]);
    return { user, session, mfa: decision };
  }

  /**
   * Ends the caller's session and issues one in another membership of the same user, with the same verified factor.
   * @throws NotFoundError when the caller has no such membership; ValidationError unless exactly one is named;
   *   IpNotAllowed; UnauthenticatedError when the caller's membership or session has ended
   */
  async switchMembership(
    caller: UserCaller,
    dto: SwitchSessionDto,
  ): Promise<{ user: LoginUserDto; session: IssuedSession }> {
    if (Object.values(dto).filter((value) => value !== undefined).length !== 1) {
      throw ValidationError.forField('orgId', 'name orgId, partnerId or scope, one of them');
    }
    const { user } = await this.sessions.getUser(caller);
    const membership = user.memberships.find((candidate) => isNamed(candidate, dto));
    if (!membership) throw new NotFoundError('Membership');
    await this.assertAddressAllowed(user, membership);
    const started = await this.worker.transaction((tx) => this.reenter(tx, caller, user, membership));
    return { user: toLoginUser(user), session: (await this.finish(started)).session };
  }

  /**
   * Replaces the caller's session by one in another of its memberships. No sign-in: the time of the sign-in and the
   * verified factor are taken over.
   * @throws UnauthenticatedError when the caller's session has ended; SwitchNotAllowed, SsoEnforced
   */
  async reenter(
    tx: OutboxTransaction,
    caller: UserCaller,
    user: User,
    membership: UserMembership,
  ): Promise<StartedLogin> {
    const mfa = await this.grace.openIfDue(tx, user, membership);
    const options = { method: 'password', mfa: false, keepsFactor: true, replaces: caller.sessionId } as const;
    const owner = await this.repository.lockSsoOwner(tx, caller.sessionId);
    if (owner && !isWithin(owner, membership)) throw new SwitchNotAllowed();
    // Locks the membership before the sessions, as its removal does.
    const session = await this.sessions.create(tx, user, membership, options);
    await this.revocations.revokeForSwitch(tx, caller, user, membership);
    return { user, session, mfa };
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

  /** Remembers the device and warns the user by mail when it is new. The first device of an account causes no mail. */
  private async rememberDevice(tx: OutboxTransaction, user: User, method: SessionMethod): Promise<void> {
    const { ipAddress, userAgent } = currentContext() ?? {};
    const device = deviceName(userAgent);
    const isNew = await this.repository.rememberDevice(tx, user.id, fingerprintOf(user.id, device, ipAddress));
    if (!isNew || WITHOUT_WARNING.includes(method)) return;
    const time = `${user.now.toISOString().slice(0, 16).replace('T', ' ')} UTC`;
    const values = { name: user.name, device, address: ipAddress ?? '-', time };
    await this.mail.add(tx, { to: user.email, template: 'new-device', values });
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

/** Checks that a membership is in the tenant of the identity provider: its sessions have access to no other. */
const isWithin = (owner: SsoOwner, { scope, partnerId, orgId }: UserMembership): boolean =>
  scope !== 'system' && owner.partnerId === partnerId && (owner.orgId === null || owner.orgId === orgId);

function isNamed({ scope, orgId, partnerId }: UserMembership, named: SwitchSessionDto): boolean {
  if (named.scope !== undefined) return scope === 'system';
  return named.orgId === undefined
    ? scope === 'partner' && partnerId === named.partnerId
    : scope === 'organization' && orgId === named.orgId;
}

/**
 * Identifies a browser on an operating system, without versions, in a coarse network: the first half of an IPv4 address
 * or the first 32 bits of an IPv6 address. An update of the browser or another address of the same provider is therefore
 * not a new device. No cookie is needed.
 */
const fingerprintOf = (userId: string, device: string, address: string | undefined): Buffer =>
  createHash('sha256')
    .update(JSON.stringify([userId, device, networkOf(address)]))
    .digest();

const networkOf = (address: string | undefined): string | null =>
  address === undefined ? null : addressBucket(address).split(/[.:]/).slice(0, 2).join('.');
