import { randomBytes } from 'node:crypto';
import { UnauthenticatedError } from '@rmm/service-kit';
import { partnerCaller } from '../../test/callers.js';
import { buildMembership, buildUser } from '../../test/fakes.js';
import type { MfaFactorsService } from '../mfa/mfa-factors.service.js';
import type { MfaRepository } from '../mfa/mfa.repository.js';
import { MAX_PASSKEYS, PasskeyFactorsService } from './passkey-factors.service.js';
import type { Passkey } from './passkey.entity.js';
import { TooManyPasskeys } from './passkey.errors.js';
import type { NewPasskey, PasskeysRepository } from './passkeys.repository.js';

type NewFactor = Parameters<MfaFactorsService['add']>[2];

describe('PasskeyFactorsService', () => {
  let user = buildUser();
  let count: number;
  let epochs: { authEpoch: number; mfaEpoch: number } | null;
  let stored: NewPasskey[];
  let factors: NewFactor[];

  beforeEach(() => {
    [user, count, epochs] = [buildUser(), 0, { authEpoch: 1, mfaEpoch: 2 }];
    [stored, factors] = [[], []];
  });

  const credential = (): Omit<NewPasskey, 'userId'> => ({
    ...{ credentialId: randomBytes(16), publicKey: randomBytes(77), counter: 0, name: 'Blue key' },
    ...{ deviceType: 'multiDevice', backedUp: true, transports: [] },
  });
  const add = () =>
    new PasskeyFactorsService(
      {
        countOf: () => Promise.resolve(count),
        add: (_: unknown, passkey: NewPasskey) => {
          stored.push(passkey);
          return Promise.resolve({ ...passkey, id: 'passkey' } as Passkey);
        },
      } as unknown as PasskeysRepository,
      { markEnabled: () => Promise.resolve(epochs) } as unknown as MfaRepository,
      {
        add: async (_: unknown, __: unknown, factor: NewFactor) => {
          factors.push(factor);
          expect(await factor.store({} as never)).toBe(epochs);
          return 'session';
        },
      } as unknown as MfaFactorsService,
    ).add(partnerCaller('partner', user.id), { user, membership: buildMembership() }, credential());

  it('stores the first factor of an account with recovery codes', async () => {
    const { passkey, session, recoveryCodes } = await add();
    expect([passkey.id, session]).toEqual(['passkey', 'session']);
    expect(recoveryCodes?.length).toBeGreaterThan(7);
    expect(stored).toEqual([expect.objectContaining({ userId: user.id, name: 'Blue key' })]);
    expect(factors).toMatchObject([
      {
        ...{ method: 'passkey', proven: true, recoveryCodes },
        audit: { action: 'auth.mfa.passkey.register', details: { passkeyName: 'Blue key' } },
        mail: { to: user.email, template: 'passkey-added' },
      },
    ]);
  });

  it('keeps the recovery codes of an account with another factor', async () => {
    user.mfaEnabled = true;
    expect((await add()).recoveryCodes).toBeUndefined();
    expect(factors[0]?.recoveryCodes).toBeUndefined();
  });

  it('counts under the lock of the account', async () => {
    count = MAX_PASSKEYS;
    await expect(add()).rejects.toThrow(TooManyPasskeys);
    count -= 1;
    await add();
    expect(stored).toHaveLength(1);
  });

  it('stores nothing when the factors of the account changed since', async () => {
    epochs = null;
    await expect(add()).rejects.toThrow(UnauthenticatedError);
    expect(stored).toEqual([]);
  });
});
