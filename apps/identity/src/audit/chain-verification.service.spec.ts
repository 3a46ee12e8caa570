import { randomUUID } from 'node:crypto';
import type { UserCaller } from '@rmm/access';
import { bindParameters, type SqlExecutor, type SqlParams } from '@rmm/persistence';
import { UnavailableError } from '@rmm/service-kit';
import { auditRow, minuteOf } from '../../test/audit-rows.js';
import { expectStatus, IdentityTestApp, type IdentityReplica } from '../../test/identity-test-app.js';
import { inviteAndAccept, registerPartner, roleId, signInAdmin } from '../../test/users.js';
import { checksumOf, sealRows } from './audit-chain.js';
import { AuditEntriesRepository } from './audit-entries.repository.js';
import { AuditSealer } from './audit-sealer.consumer.js';
import { ChainVerificationService } from './chain-verification.service.js';

describe('ChainVerificationService', () => {
  let testApp: IdentityTestApp;
  let identity: IdentityReplica;
  let root: string;

  beforeAll(async () => {
    testApp = await IdentityTestApp.start();
    identity = await testApp.startReplica({ RATE_LIMIT_AUDIT_VERIFY: '1000/3600' });
    root = await signInAdmin(identity);
  }, 120_000);
  afterAll(() => testApp.stop());
  afterEach(() => jest.restoreAllMocks());

  const seal = (rows: Parameters<AuditSealer['seal']>[0]) => identity.app.get(AuditSealer).seal(rows);
  /** A chain with a row for each minute given. */
  const parentChain = async (...minutes: number[]) => {
    const partnerId = randomUUID();
    const rows = minutes.map((minute) => auditRow(partnerId, minute));
    await seal(rows);
    return { partnerId, ids: rows.map(({ id }) => id) };
  };
  const verify = async (partnerId: string, query = '') => {
    const response = await identity.get(`/audit-logs/verify?partnerId=${partnerId}${query}`, { bearer: root });
    return expectStatus(response, 200).body.data as {
      verified: boolean;
      checkedRows: number;
      firstBreak: unknown;
      fromSequence: number | null;
      toSequence: number | null;
    };
  };
  /** Runs a statement as the owner of the database. */
  const tamper = (sql: string, ...params: unknown[]) => testApp.query(sql, params);

  it('verifies a chain across several months', async () => {
    const { partnerId } = await parentChain(0, 1, -200_000, 60_000, 2);
    const partitions = await testApp.query(
      'select distinct tableoid from audit_entry where partner_id = $1', // rows of one chain in several partitions
      [partnerId],
    );
    expect(partitions.length).toBeGreaterThan(1);
    const [head] = await testApp.query<{ checksum: string }>('select checksum from audit_head where chain = $1', [
      partnerId,
    ]);
    expect(await verify(partnerId)).toEqual({
      partnerId,
      verified: true,
      checkedRows: 5,
      fromSequence: 1,
      toSequence: 5,
      firstBreak: null,
      head: { sequence: 5, checksum: head.checksum, timestamp: expect.any(String) },
    });
  });

  it('verifies an empty chain', async () => {
    expect(await verify(randomUUID())).toMatchObject({ verified: true, checkedRows: 0, fromSequence: null });
  });

  describe.each([
    [
      'a changed column',
      `update audit_entry set action = 'forged' where partner_id = $1 and sequence = 3`,
      3,
      'changed',
    ],
    ['changed details', `update audit_entry set details = '{}' where partner_id = $1 and sequence = 2`, 2, 'changed'],
    ['changed bytes', `update audit_entry set canonical = '{}' where partner_id = $1 and sequence = 2`, 2, 'changed'],
    ['a missing row', 'delete from audit_entry where partner_id = $1 and sequence = 3', 4, 'missing'],
    ['a missing beginning', 'delete from audit_entry where partner_id = $1 and sequence <= 2', 3, 'missing'],
    ['a missing end', 'delete from audit_entry where partner_id = $1 and sequence >= 4', 4, 'missing'],
    ['a chain that is gone', 'delete from audit_entry where partner_id = $1', 1, 'missing'],
    [
      'two rows in each other’s place',
      'update audit_entry set sequence = 7 - sequence where partner_id = $1 and sequence in (3, 4)',
      3,
      'reordered',
    ],
    [
      'two rows in one place',
      'update audit_entry set sequence = 2 where partner_id = $1 and sequence = 3',
      2,
      'reordered',
    ],
  ])('when %s', (_, sql, sequence, kind) => {
    it('returns the position of the break', async () => {
      const { partnerId } = await parentChain(0, 1, 2, 3, 4);
      await tamper(sql, partnerId);
      const result = await verify(partnerId);
      expect(result.verified).toBe(false);
      expect(result.firstBreak).toMatchObject({ sequence, kind });
    });
  });

  it('detects an entry after the head', async () => {
    const { partnerId } = await parentChain(0, 1);
    const [head] = await testApp.query<{ checksum: string }>('select checksum from audit_head where chain = $1', [
      partnerId,
    ]);
    const { sealed } = sealRows({ sequence: 2, checksum: head.checksum }, [auditRow(partnerId, 2)]);
    const owner: SqlExecutor = {
      query: <Row>(sql: string, params?: SqlParams) => {
        const { text, values } = bindParameters(sql, params);
        return testApp.query<object>(text, values) as Promise<Row[]>;
      },
    };
    await identity.app.get(AuditEntriesRepository).insert(owner, sealed);
    expect((await verify(partnerId)).firstBreak).toEqual({ sequence: 3, id: sealed[0].id, kind: 'reordered' });
  });

  it('detects a head that was sealed again', async () => {
    const { partnerId, ids } = await parentChain(0, 1, 2);
    const [last] = await testApp.query<{ canonical: string; previous_checksum: string }>(
      'select canonical, previous_checksum from audit_entry where id = $1',
      [ids[2]],
    );
    const canonical = last.canonical.replace('thing.update', 'thing.forged');
    await tamper(
      `update audit_entry set action = 'thing.forged', canonical = $2, checksum = $3 where id = $1`,
      ids[2],
      canonical,
      checksumOf(last.previous_checksum, canonical),
    );
    expect((await verify(partnerId)).firstBreak).toMatchObject({ sequence: 3, kind: 'changed' });
  });

  describe('range of time', () => {
    /** Minute 11 and 12 came late: their places are after minute 40. */
    const chain = () => parentChain(0, 10, 20, 30, 40, 11, 12, 50);
    const between = (from: number | null, to: number | null) =>
      `${from === null ? '' : `&from=${minuteOf(from)}`}${to === null ? '' : `&to=${minuteOf(to)}`}`;

    it.each([
      [null, 25, 7, 1, 7],
      [25, null, 5, 4, 8],
      [10, 15, 6, 2, 7],
      [20, 41, 3, 3, 5],
      [60, null, 0, null, null],
    ])('verifies rows from %s to %s, late ones included', async (from, to, checkedRows, fromSequence, toSequence) => {
      const { partnerId } = await chain();
      expect(await verify(partnerId, between(from, to))).toMatchObject({
        verified: true,
        checkedRows,
        fromSequence,
        toSequence,
      });
    });

    it.each([
      ['its first row', 3, 4, 'missing'],
      ['a row within', 4, 5, 'missing'],
      ['its last row', 5, 5, 'missing'],
    ])('detects that %s is missing', async (_, gone, sequence, kind) => {
      const { partnerId } = await chain();
      await tamper('delete from audit_entry where partner_id = $1 and sequence = $2', partnerId, gone);
      expect((await verify(partnerId, between(20, 41))).firstBreak).toMatchObject({ sequence, kind });
    });

    it('ignores breaks outside of the range', async () => {
      const { partnerId } = await chain();
      await tamper(`update audit_entry set action = 'forged' where partner_id = $1 and sequence in (1, 8)`, partnerId);
      expect(await verify(partnerId, between(20, 41))).toMatchObject({ verified: true });
      expect(await verify(partnerId)).toMatchObject({ verified: false });
    });
  });

  it('stays correct while entries are sealed concurrently', async () => {
    const { partnerId } = await parentChain(0, 1, 2);
    const repository = identity.app.get(AuditEntriesRepository);
    const listChain = repository.listChain.bind(repository);
    jest.spyOn(repository, 'listChain').mockImplementation(async (...args) => {
      await seal([auditRow(partnerId, 5), auditRow(partnerId, 6)]);
      return listChain(...args);
    });
    expect(await verify(partnerId)).toMatchObject({ verified: true, checkedRows: 3, head: { sequence: 3 } });
    jest.restoreAllMocks();
    const sealing = Promise.all(Array.from({ length: 20 }, (_, i) => seal([auditRow(partnerId, 100 + i)])));
    const results = await Promise.all(Array.from({ length: 20 }, () => verify(partnerId)));
    await sealing;
    expect(results.filter(({ verified }) => !verified)).toEqual([]);
  });

  it('checks a long chain in the memory of one page', async () => {
    const partnerId = randomUUID();
    const ROWS = 30_000;
    for (let start = 0; start < ROWS; start += 10_000) {
      await seal(Array.from({ length: 10_000 }, (_, i) => auditRow(partnerId, start + i)));
    }
    const repository = identity.app.get(AuditEntriesRepository);
    const pages = jest.spyOn(repository, 'listChain');
    expect(await verify(partnerId)).toMatchObject({ verified: true, checkedRows: ROWS });
    const sizes = await Promise.all(pages.mock.results.map(async ({ value }) => ((await value) as unknown[]).length));
    expect(Math.max(...sizes)).toBeLessThanOrEqual(100);
  }, 120_000);

  it('stops reading when the client disconnects', async () => {
    const { partnerId } = await parentChain(...Array.from({ length: 350 }, (_, n) => n));
    const leaving = new AbortController();
    const repository = identity.app.get(AuditEntriesRepository);
    const listChain = repository.listChain.bind(repository);
    const pages = jest.spyOn(repository, 'listChain').mockImplementation((...args) => {
      leaving.abort();
      return listChain(...args);
    });
    const caller = { scope: 'system', userId: randomUUID() } as UserCaller;
    const service = identity.app.get(ChainVerificationService);
    await expect(service.verify(caller, { partnerId }, leaving.signal)).rejects.toThrow(UnavailableError);
    expect(pages).toHaveBeenCalledTimes(1);
  });

  it('allows ten verifications an hour for each user', async () => {
    const strict = await testApp.startReplica();
    const { bearer } = await registerPartner(strict);
    const verifications = Array.from({ length: 12 }, () => strict.get('/audit-logs/verify', { bearer }));
    const statuses = (await Promise.all(verifications)).map(({ status }) => status);
    expect(statuses.sort()).toEqual([...Array<number>(10).fill(200), 429, 429]);
  });

  describe('access', () => {
    it('allows members with full partner access for their own partner only', async () => {
      const acme = await registerPartner(identity);
      const invite = async (role: string, more = {}, query = '') =>
        inviteAndAccept(identity, acme.bearer, { roleId: await roleId(identity, acme.bearer, role, query), ...more });
      const viewer = await invite('Partner Viewer');
      const nowhere = await invite('Partner Admin', { orgAccess: 'none' });
      const ask = (bearer: string, query = '') => identity.get(`/audit-logs/verify${query}`, { bearer });
      expect(await ask(viewer.bearer)).toMatchObject({ status: 403, body: { code: 'permission_denied' } });
      expect(await ask(nowhere.bearer)).toMatchObject({
        status: 403,
        body: { code: 'full_partner_access_required' },
      });
      const { partnerId } = await parentChain(0);
      const own = expectStatus(await ask(acme.bearer, `?partnerId=${partnerId}`), 200);
      expect(own.body.data.partnerId).toBe(acme.partnerId);
      expect(await ask(acme.bearer, '?from=x')).toMatchObject({ status: 400, body: { code: 'validation_failed' } });
    });

    it('allows the platform, whose entries form a separate chain', async () => {
      await seal([auditRow(null, 0), auditRow(null, 1)]);
      const { body } = expectStatus(await identity.get('/audit-logs/verify', { bearer: root }), 200);
      expect(body.data).toMatchObject({ partnerId: null, verified: true });
      expect(body.data.checkedRows).toBeGreaterThanOrEqual(2);
    });
  });
});
