import { randomBytes, randomUUID } from 'node:crypto';
import { IdentityTestDatabase } from '../../test/identity-test-database.js';
import { SsoFlowsRepository, type NewCode, type NewFlow } from './sso-flows.repository.js';

describe('SsoFlowsRepository', () => {
  let database: IdentityTestDatabase;
  let repository: SsoFlowsRepository;
  let userId: string;
  let providerId: string;

  beforeAll(async () => {
    database = await IdentityTestDatabase.start();
    repository = new SsoFlowsRepository(database.worker);
    const partnerId = await database.createPartner();
    userId = await database.createUser();
    providerId = await database.createProvider(partnerId, await database.createOrganization(partnerId));
  }, 120_000);
  afterAll(() => database?.stop());
  afterEach(() => database.query('TRUNCATE sso_flow, sso_code'));

  const startFlow = async (changes: Partial<NewFlow> = {}): Promise<NewFlow> => {
    const [stateHash, browserHash] = [randomBytes(32), randomBytes(32)];
    const provider = { providerId, configVersion: 3 };
    const login = { purpose: 'login', userId: null, sessionId: null } as const;
    const flow = { stateHash, browserHash, ...provider, ...login, secretsSealed: 'sealed', returnTo: '/', ...changes };
    await repository.insert(flow);
    return flow;
  };
  const startCode = async (): Promise<NewCode> => {
    const [codeHash, browserHash] = [randomBytes(32), randomBytes(32)];
    const account = { userId, authEpoch: 4, idpMfa: true, ssoSid: 'session-1' };
    const code = { codeHash, browserHash, providerId, configVersion: 3, ...account };
    await database.worker.transaction((tx) => repository.insertCode(tx, code));
    return code;
  };
  const endAt = (table: 'sso_flow' | 'sso_code', key: Buffer, secondsAgo: number) =>
    database.query(
      `UPDATE ${table} SET expires_at = now() - make_interval(secs => $2)
        WHERE ${table === 'sso_flow' ? 'state_hash' : 'code_hash'} = $1`,
      [key, secondsAgo],
    );

  it('gives a login to one of twenty callbacks, with what it began with', async () => {
    const { stateHash, browserHash, ...begun } = await startFlow();
    const taken = await Promise.all(Array.from({ length: 20 }, () => repository.takeFlow(stateHash, browserHash)));
    expect(taken.filter((flow) => flow !== null)).toEqual([{ ...begun, stateHash, expired: false }]);
  });

  it('leaves a login to the browser that began it', async () => {
    const { stateHash, browserHash } = await startFlow();
    expect(await repository.takeFlow(stateHash, randomBytes(32))).toBeNull();
    expect(await repository.takeFlow(randomBytes(32), browserHash)).toBeNull();
    expect(await repository.takeFlow(stateHash, browserHash)).not.toBeNull();
  });

  it('stores whose identity is linked, and states that a login is late', async () => {
    const sessionId = randomUUID();
    const { stateHash, browserHash } = await startFlow({ purpose: 'link', userId, sessionId });
    await endAt('sso_flow', stateHash, 1);
    const taken = await repository.takeFlow(stateHash, browserHash);
    expect(taken).toMatchObject({ purpose: 'link', userId, sessionId, expired: true });
  });

  it('gives a code to one of twenty exchanges, with the account of the callback', async () => {
    const { codeHash, browserHash, ...begun } = await startCode();
    const taken = await Promise.all(Array.from({ length: 20 }, () => repository.takeCode(codeHash, browserHash)));
    expect(taken.filter((code) => code !== null)).toEqual([begun]);
  });

  it('compares the browser of a code unless the client is none', async () => {
    const { codeHash } = await startCode();
    expect(await repository.takeCode(codeHash, randomBytes(32))).toBeNull();
    expect(await repository.takeCode(codeHash, null)).toMatchObject({ userId });
  });

  it('uses up a code that is late', async () => {
    const { codeHash, browserHash } = await startCode();
    await endAt('sso_code', codeHash, 1);
    expect(await repository.takeCode(codeHash, browserHash)).toBeNull();
    expect(await database.query('SELECT FROM sso_code')).toEqual([]);
  });

  it('deletes codes at their end and logins an hour later', async () => {
    const [live, late, old] = [await startFlow(), await startFlow(), await startFlow()];
    await endAt('sso_flow', late.stateHash, 3_500);
    await endAt('sso_flow', old.stateHash, 3_700);
    const [liveCode, oldCode] = [await startCode(), await startCode()];
    await endAt('sso_code', oldCode.codeHash, 1);
    await repository.deleteExpired();
    const flows = await database.query<{ key: Buffer }>('SELECT state_hash AS key FROM sso_flow');
    const keys = (rows: { key: Buffer }[]) => rows.map(({ key }) => key.toString('hex')).sort();
    expect(keys(flows)).toEqual(keys([{ key: live.stateHash }, { key: late.stateHash }]));
    expect(await database.query('SELECT code_hash AS key FROM sso_code')).toEqual([{ key: liveCode.codeHash }]);
  });
});
