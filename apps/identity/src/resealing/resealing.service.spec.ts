import { randomBytes, randomUUID } from 'node:crypto';
import { KeyRing } from '@rmm/secrets';
import { eventually } from '@rmm/testing-services';
import {
  expectStatus,
  IdentityTestApp,
  PASSWORD,
  totpCode,
  type IdentityReplica,
} from '../../test/identity-test-app.js';
import { enrollTotp, registerPartner } from '../../test/users.js';
import { totpSealContext } from '../mfa/mfa.repository.js';

const key = () => randomBytes(32).toString('base64');
const [old, fresh] = [key(), key()];

describe('ResealingService', () => {
  let testApp: IdentityTestApp;

  beforeAll(async () => {
    testApp = await IdentityTestApp.start();
  }, 120_000);
  afterAll(() => testApp.stop());

  const run = (keys: Record<string, string>, activeKid: string) =>
    testApp.startReplica({
      SECRET_ENCRYPTION_KEY: undefined,
      SECRETS_KEYRING: JSON.stringify(keys),
      SECRETS_ACTIVE_KID: activeKid,
    });
  const kids = () =>
    testApp.query<{ kid: string; count: number }>(
      `select split_part(sealed, '.', 2) as kid, count(*)::int as count from (
         select private_jwk_sealed as sealed from signing_key union all
         select secret_sealed from totp_factor union all
         select values_sealed from mail where values_sealed is not null) texts
       group by 1 order by 1`,
    );
  const sealForMany = async (count: number, ring: KeyRing) => {
    const ids = Array.from({ length: count }, () => randomUUID());
    await testApp.query(
      `with users as (
         insert into user_account (id, email, name) select id, id || '@users.test', 'Many' from unnest($1::uuid[]) id)
       insert into totp_factor (user_id, secret_sealed) select * from unnest($1::uuid[], $2::text[])`,
      [ids, ids.map((id) => ring.seal('SECRET', totpSealContext(id)))],
    );
  };
  const signIn = async (identity: IdentityReplica, email: string, secret: string, steps: number) => {
    const { body } = await identity.post('/auth/login', { email, password: PASSWORD });
    return identity.post('/auth/mfa/verify', { code: totpCode(secret, steps), tempToken: body.tempToken });
  };

  it('seals every stored value with the new key when replicas start concurrently', async () => {
    const first = await run({ old }, 'old');
    const { email, bearer } = await registerPartner(first);
    const { secret } = await enrollTotp(first, bearer);
    await sealForMany(450, new KeyRing({ keys: { old: Buffer.from(old, 'base64') }, activeKid: 'old' }));
    await sealForMany(1, new KeyRing({ keys: { lost: randomBytes(32) }, activeKid: 'lost' }));
    expect((await kids()).map(({ kid }) => kid)).toEqual(['lost', 'old']);
    await first.stop();

    const replicas = await Promise.all([run({ old, fresh }, 'fresh'), run({ old, fresh }, 'fresh')]);
    await eventually(async () => expect((await kids()).map(({ kid }) => kid)).toEqual(['fresh', 'lost']));
    expect((await kids())[0]?.count).toBeGreaterThan(450);
    expectStatus(await signIn(replicas[0], email, secret, 0), 200);
    await Promise.all(replicas.map((replica) => replica.stop()));

    const last = await run({ fresh }, 'fresh');
    expectStatus(await signIn(last, email, secret, 1), 200);
  });
});
