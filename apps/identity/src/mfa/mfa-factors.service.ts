import { Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import type { AuditAction } from '@rmm/contracts';
import { AuditTrail } from '@rmm/messaging';
import { TenantDatabase, type TenantTransaction } from '@rmm/persistence';
import { UnauthenticatedError } from '@rmm/service-kit';
import { MailService, type NewMail } from '../mail/mail.service.js';
import { sameMembership } from '../members/membership.types.js';
import { SecurityPoliciesService } from '../security-policy/security-policies.service.js';
import {
  SessionsService,
  type FactorProofs,
  type IssuedSession,
  type SessionUser,
  type StoredSession,
} from '../sessions/sessions.service.js';
import type { MfaMethod, User, UserMembership } from '../users/user.types.js';
import { MfaCodesService } from './mfa-codes.service.js';
import { MfaGraceService } from './mfa-grace.service.js';
import type { TotpSetup } from './mfa-state.repository.js';
import { MfaAlreadyEnabled, MfaMethodNotAllowed, MfaNotEnabled } from './mfa.errors.js';
import { MfaRepository, type Epochs } from './mfa.repository.js';

export interface FactorChange {
  audit: { action: AuditAction; details?: Record<string, unknown> };
  mail: NewMail;
  /**
   * Stores the change and moves the epoch.
   * @param membership  the caller's, with the policies that apply
   * @returns the new epochs, and what the session that replaces the caller's has proven
   */
  store: (tx: TenantTransaction, membership: UserMembership) => Promise<{ epochs: Epochs; proofs: FactorProofs }>;
}

/** A factor to be stored. */
export interface NewFactor extends Omit<FactorChange, 'store'> {
  method: MfaMethod;
  /** True when the user has just proven it. */
  proven: boolean;
  /** Replace the stored ones; they stay when absent. */
  recoveryCodes?: readonly string[];
  /** Stores the factor and moves the epoch. @returns the new epochs */
  store: (tx: TenantTransaction) => Promise<Epochs>;
}

/**
 * Stores changes of a user's factors. Each change ends every session and issues the caller's again, in one
 * transaction, and informs the user by mail.
 */
@Injectable()
export class MfaFactorsService {
  constructor(
    private readonly tenants: TenantDatabase,
    private readonly repository: MfaRepository,
    private readonly codes: MfaCodesService,
    private readonly grace: MfaGraceService,
    private readonly policies: SecurityPoliciesService,
    private readonly sessions: SessionsService,
    private readonly audit: AuditTrail,
    private readonly mail: MailService,
  ) {}

  /** @throws MfaAlreadyEnabled, MfaMethodNotAllowed */
  async assertMayEnableTotp(caller: UserCaller, { user, membership }: SessionUser): Promise<void> {
    if (await this.repository.hasTotp(this.tenants.reader(caller), user.id)) throw new MfaAlreadyEnabled();
    this.assertAllowed('totp', user, membership);
  }

  /** @throws MfaMethodNotAllowed when partner or organization of the membership exclude the method */
  assertAllowed(method: MfaMethod, user: User, membership: UserMembership): void {
    if (!this.grace.evaluate(user, membership).allowedMethods.includes(method)) throw new MfaMethodNotAllowed();
  }

  /**
   * Stores a confirmed authenticator app with its recovery codes.
   * @throws UnauthenticatedError, MfaAlreadyEnabled, MfaMethodNotAllowed
   */
  async enableTotp(
    caller: UserCaller,
    owner: SessionUser,
    { secret, recoveryCodes }: TotpSetup,
  ): Promise<IssuedSession> {
    const { id, email, name } = owner.user;
    const sealed = this.codes.sealSecret(id, secret);
    return this.add(caller, owner, {
      method: 'totp',
      proven: true,
      recoveryCodes,
      audit: { action: 'auth.mfa.enable', details: { method: 'totp' } },
      mail: { to: email, template: 'mfa-enabled', values: { name } },
      store: async (tx) => {
        const epochs = await this.repository.markEnabled(tx, id, 'totp');
        if (!epochs) throw new UnauthenticatedError();
        if (!(await this.repository.insertTotp(tx, id, sealed))) throw new MfaAlreadyEnabled();
        return epochs;
      },
    });
  }

  /** Stores a factor. @throws UnauthenticatedError, MfaMethodNotAllowed, and what `store` throws */
  add(caller: UserCaller, owner: SessionUser, factor: NewFactor): Promise<IssuedSession> {
    const { method, proven, recoveryCodes, store, ...change } = factor;
    const { user } = owner;
    return this.change(caller, owner, {
      ...change,
      store: async (tx, membership) => {
        this.assertAllowed(method, user, membership);
        const epochs = await store(tx);
        if (recoveryCodes) {
          await this.repository.replaceRecoveryCodes(tx, user.id, this.hash(user.id, recoveryCodes));
        }
        return { epochs, proofs: { mfa: true, factor: method, factorProven: proven } };
      },
    });
  }

  /**
   * Changes the factors while the policies that apply to their user stay as they are.
   * @throws UnauthenticatedError, and what `store` throws
   */
  async change(caller: UserCaller, { user, membership }: SessionUser, change: FactorChange): Promise<IssuedSession> {
    const { audit, mail, store } = change;
    const stored = await this.policies.withStablePolicies(user.id, async (memberships) => {
      const current = memberships.find((candidate) => sameMembership(candidate, membership));
      if (!current) throw new UnauthenticatedError();
      return this.tenants.transaction(caller, async (tx): Promise<StoredSession> => {
        const { epochs, proofs } = await store(tx, current);
        await this.audit.record(tx, caller, audit.action, toResource(user), audit.details);
        await this.mail.add(tx, mail);
        return this.sessions.replaceAfterFactorChange(tx, caller, { user: { ...user, ...epochs }, membership }, proofs);
      });
    });
    return this.sessions.issue(stored);
  }

  /**
   * Deletes every factor, phone and recovery codes.
   * @param code  of the authenticator app, sent for a step-up by SMS, or a recovery code, which is used up by the change
   * @param useProof  uses up the proof of the account, once the code is known to be correct
   * @returns null when the code is wrong
   * @throws MfaNotEnabled, UnauthenticatedError, and what `useProof` throws
   */
  async disable(
    caller: UserCaller,
    { user, membership }: SessionUser,
    code: string,
    useProof: () => Promise<void>,
  ): Promise<IssuedSession | null> {
    const proof = await this.findProof(caller, user, code);
    if (proof === null) return null;
    await useProof();
    const stored = await this.tenants.transaction(caller, async (tx) => {
      if (proof === 'recovery' && !(await this.codes.useRecoveryCode(tx, user.id, code))) return null;
      const epochs = await this.repository.clear(tx, user.id, user.mfaEpoch);
      if (!epochs) throw new MfaNotEnabled();
      const details = { method: user.mfaMethod, proof };
      await this.audit.record(tx, caller, 'auth.mfa.disable', toResource(user), details);
      await this.mail.add(tx, { to: user.email, template: 'mfa-disabled', values: { name: user.name } });
      // The account has no factor any more, so the new session has not verified one.
      const owner = { user: { ...user, ...epochs }, membership };
      return this.sessions.replaceAfterFactorChange(tx, caller, owner, { mfa: false, factorProven: false });
    });
    return stored && this.sessions.issue(stored);
  }

  /** Replaces all recovery codes and informs the user by mail. @throws UnauthenticatedError when the factors were changed since */
  async replaceRecoveryCodes(
    caller: UserCaller,
    { user, membership }: SessionUser,
    recoveryCodes: readonly string[],
  ): Promise<IssuedSession> {
    const stored = await this.tenants.transaction(caller, async (tx) => {
      const epochs = await this.repository.incrementEpoch(tx, user.id, user.mfaEpoch);
      if (!epochs) throw new UnauthenticatedError();
      await this.repository.replaceRecoveryCodes(tx, user.id, this.hash(user.id, recoveryCodes));
      const details = { count: recoveryCodes.length };
      await this.audit.record(tx, caller, 'auth.mfa.recovery_codes.rotate', toResource(user), details);
      await this.mail.add(tx, { to: user.email, template: 'recovery-codes-replaced', values: { name: user.name } });
      // No new proof: the session keeps its last one.
      const owner = { user: { ...user, ...epochs }, membership };
      const proofs = { mfa: true, keepsFactor: true, factorProven: false };
      return this.sessions.replaceAfterFactorChange(tx, caller, owner, proofs);
    });
    return this.sessions.issue(stored);
  }

  /** Returns what a code is of; null when it is wrong. A recovery code is used up by the change only. */
  private async findProof(caller: UserCaller, user: User, code: string): Promise<'totp' | 'sms' | 'recovery' | null> {
    const db = this.tenants.reader(caller);
    if (await this.codes.verifyTotp(db, user.id, code)) return 'totp';
    const { userId, sessionId } = caller;
    if (await this.codes.verifySms({ purpose: 'step-up', userId, sessionId }, user, code)) return 'sms';
    return (await this.codes.verifyRecoveryCode(db, user.id, code)) ? 'recovery' : null;
  }

  private hash(userId: string, codes: readonly string[]): Buffer[] {
    return codes.map((code) => this.codes.hashRecoveryCode(userId, code));
  }
}

const toResource = ({ id, name }: User) => ({ type: 'user', id, name });
