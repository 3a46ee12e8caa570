import type { UserCaller } from '@rmm/access';
import type { CurrentSession } from '../sessions/current-session.service.js';
import type { User } from '../users/user.js';
import { ExistingFactorStepUpRequired } from './mfa.errors.js';
import type { OneTimeStore } from './one-time-store.service.js';
import { StepUpPolicy } from './step-up.policy.js';

/** Stores values in memory. */
class FakeOneTimeStore implements Pick<OneTimeStore, 'set' | 'get' | 'consume'> {
  private readonly values = new Map<string, string>();

  set(key: string, value: string): Promise<void> {
    this.values.set(key, value);
    return Promise.resolve();
  }

  get(key: string): Promise<string | null> {
    return Promise.resolve(this.values.get(key) ?? null);
  }

  consume(key: string): Promise<boolean> {
    return Promise.resolve(this.values.delete(key));
  }
}

const NOW = new Date('2026-11-22T09:00:00.000Z');
const caller = { userId: 'u', sessionId: 's' } as UserCaller;
const user = { authEpoch: 1, mfaEpoch: 2, mfaEnabled: true } as User;

function policyWith(factorProofAt: Date | null): StepUpPolicy {
  const session = { getProofs: () => Promise.resolve({ factorProofAt, passwordProofAt: null, now: NOW }) };
  return new StepUpPolicy(new FakeOneTimeStore() as unknown as OneTimeStore, session as unknown as CurrentSession);
}

describe('StepUpPolicy', () => {
  it('accepts a grant for its operation, session and epochs only', async () => {
    const policy = policyWith(null);
    const id = await policy.issue(caller, user, 'change_email');
    expect(await policy.isValid(id, caller, user, 'change_email')).toBe(true);
    expect(await policy.isValid(id, caller, user, 'add_factor')).toBe(false);
    expect(await policy.isValid(id, { ...caller, sessionId: 'other' }, user, 'change_email')).toBe(false);
    expect(await policy.isValid(id, caller, { authEpoch: 1, mfaEpoch: 3 }, 'change_email')).toBe(false);
  });

  it('consumes a grant once', async () => {
    const policy = policyWith(null);
    const id = await policy.issue(caller, user, 'add_factor');
    await policy.consumeFactorGrant(id);
    await expect(policy.consumeFactorGrant(id)).rejects.toThrow(ExistingFactorStepUpRequired);
  });

  it('requires no grant for a first factor or after a recent proof', async () => {
    expect(await policyWith(null).checkFactorGrant(caller, { ...user, mfaEnabled: false }, undefined)).toBeNull();
    expect(await policyWith(new Date(NOW.getTime() - 599_000)).checkFactorGrant(caller, user, undefined)).toBeNull();
  });

  it('requires a valid grant when the last proof is ten minutes old', async () => {
    const policy = policyWith(new Date(NOW.getTime() - 600_000));
    await expect(policy.checkFactorGrant(caller, user, undefined)).rejects.toThrow(ExistingFactorStepUpRequired);
    const id = await policy.issue(caller, user, 'add_factor');
    expect(await policy.checkFactorGrant(caller, user, id)).toBe(id);
  });
});
