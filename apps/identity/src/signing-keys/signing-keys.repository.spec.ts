import { randomUUID } from 'node:crypto';
import { WorkerDatabase } from '@rmm/persistence';
import { IdentityTestApp } from '../../test/identity-test-app.js';
import type { PublicJwkDto } from './dto/jwks.dto.js';
import { SigningKeysRepository, type NewSigningKey } from './signing-keys.repository.js';

const newKey = (): NewSigningKey => {
  const kid = randomUUID();
  const publicJwk: PublicJwkDto = { kty: 'EC', crv: 'P-256', x: 'x', y: 'y', kid, alg: 'ES256', use: 'sig' };
  return { kid, privateJwkSealed: 'sealed', publicJwk };
};

describe('SigningKeysRepository', () => {
  let testApp: IdentityTestApp;
  let repository: SigningKeysRepository;
  let worker: WorkerDatabase;

  beforeAll(async () => {
    testApp = await IdentityTestApp.start();
    const identity = await testApp.startReplica();
    repository = identity.app.get(SigningKeysRepository, { strict: false });
    worker = identity.app.get(WorkerDatabase);
  }, 120_000);
  afterAll(() => testApp.stop());
  beforeEach(() => testApp.query('delete from signing_key'));

  const rotate = (key: NewSigningKey) => worker.transaction((tx) => repository.replaceNewest(tx, key));
  const usable = async () => (await repository.listUsable()).map(({ kid, maySign }) => ({ kid, maySign }));
  const age = (minutes: number) =>
    testApp.query('update signing_key set retired_at = retired_at - make_interval(mins => $1)', [minutes]);

  it('stores one first key for concurrent replicas', async () => {
    const keys = [newKey(), newKey(), newKey()];
    await Promise.all(keys.map((key) => repository.insertFirst(key)));
    const [stored, ...others] = await repository.listUsable();
    expect(others).toEqual([]);
    expect(keys).toContainEqual({
      kid: stored?.kid,
      privateJwkSealed: stored?.privateJwkSealed,
      publicJwk: stored?.publicJwk,
    });
  });

  it('lets a new key sign six minutes later and lists the replaced one for a day', async () => {
    const [older, newer] = [newKey(), newKey()];
    await repository.insertFirst(older);
    const retiring = await rotate(newer);
    expect(retiring?.kid).toBe(older.kid);
    expect((retiring?.at.getTime() ?? 0) - Date.now()).toBeGreaterThan(350_000);
    const before = [
      { kid: older.kid, maySign: true },
      { kid: newer.kid, maySign: true },
    ];
    expect(await usable()).toEqual(before);
    await age(6);
    const after = [
      { kid: newer.kid, maySign: true },
      { kid: older.kid, maySign: false },
    ];
    expect(await usable()).toEqual(after);
    await age(24 * 60);
    expect(await usable()).toEqual(after.slice(0, 1));
  });

  it('replaces no key when there is none', async () => {
    expect(await rotate(newKey())).toBeNull();
    expect(await usable()).toEqual([]);
  });

  it('keeps one newest key for concurrent rotations', async () => {
    await repository.insertFirst(newKey());
    const replaced = await Promise.all([rotate(newKey()), rotate(newKey())]);
    expect(new Set(replaced.map((key) => key?.kid)).size).toBe(2);
    expect(await testApp.query('select kid from signing_key where retired_at is null')).toHaveLength(1);
  });

  it('publishes configured keys for a day without a private part and retires stored ones', async () => {
    const [stored, configured] = [newKey(), newKey()];
    await repository.insertFirst(stored);
    await repository.publishConfigured([configured.publicJwk]);
    await repository.retireAll();
    expect((await usable()).every(({ maySign }) => !maySign)).toBe(true);
    const shown = (await repository.listUsable()).find(({ kid }) => kid === configured.kid);
    expect(shown).toMatchObject({ privateJwkSealed: '', publicJwk: configured.publicJwk });
    await age(23 * 60);
    await repository.publishConfigured([configured.publicJwk]);
    await age(2 * 60);
    expect(await usable()).toEqual([{ kid: configured.kid, maySign: false }]);
  });
});
