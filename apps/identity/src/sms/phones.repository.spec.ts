import { TenantDatabase, type TenantTransaction } from '@rmm/persistence';
import { IdentityTestApp, type IdentityReplica } from '../../test/identity-test-app.js';
import { registerPartner, type TestUser } from '../../test/users.js';
import { PhonesRepository } from './phones.repository.js';

const NUMBER = '+41790000001';

describe('PhonesRepository', () => {
  let testApp: IdentityTestApp;
  let identity: IdentityReplica;
  let repository: PhonesRepository;
  let tenants: TenantDatabase;

  beforeAll(async () => {
    testApp = await IdentityTestApp.start();
    identity = await testApp.startReplica();
    repository = identity.app.get(PhonesRepository, { strict: false });
    tenants = identity.app.get(TenantDatabase);
  }, 120_000);
  afterAll(() => testApp.stop());

  const runAs = <T>({ partnerId, userId }: TestUser, work: (tx: TenantTransaction) => Promise<T>) => {
    const tenant = { scope: 'partner', partnerId, orgId: null, orgAccess: 'all', orgIds: [], userId } as const;
    return tenants.transaction({ tenant }, work);
  };
  const store = (user: TestUser, mfaEpoch: number, changesFactor = false) =>
    runAs(user, (tx) => repository.store(tx, user.userId, { phoneNumber: NUMBER, changesFactor, mfaEpoch }));
  const enable = (user: TestUser, mfaEpoch: number, phoneNumber = NUMBER) =>
    runAs(user, (tx) => repository.enableSms(tx, user.userId, { phoneNumber, mfaEpoch }));

  it('stores a number by the epoch that was read, and moves it when a factor changes', async () => {
    const user = await registerPartner(identity);
    expect(await store(user, 7)).toBeNull();
    expect(await store(user, 1)).toMatchObject({ mfaEpoch: 1 });
    expect(await store(user, 1, true)).toMatchObject({ mfaEpoch: 2 });
    expect(await store(user, 1, true)).toBeNull();
    await testApp.query(`update user_account set status = 'disabled' where id = $1`, [user.userId]);
    expect(await store(user, 2)).toBeNull();
  });

  it('enables SMS for the verified number only, once per epoch', async () => {
    const user = await registerPartner(identity);
    expect(await enable(user, 1)).toBeNull();
    await store(user, 1);
    expect(await enable(user, 1, '+41790000002')).toBeNull();
    const enabled = await Promise.all([enable(user, 1), enable(user, 1)]);
    expect(enabled.filter((epochs) => epochs !== null)).toEqual([expect.objectContaining({ mfaEpoch: 2 })]);
    const [account] = await testApp.query('select mfa_method, first_factor_at is not null as had from user_account where id = $1', [user.userId]); // prettier-ignore
    expect(account).toEqual({ mfa_method: 'sms', had: true });
  });

  it('changes no account of another user', async () => {
    const [user, other] = [await registerPartner(identity), await registerPartner(identity)];
    const taken = { phoneNumber: NUMBER, changesFactor: false, mfaEpoch: 1 };
    expect(await runAs(other, (tx) => repository.store(tx, user.userId, taken))).toBeNull();
  });
});
