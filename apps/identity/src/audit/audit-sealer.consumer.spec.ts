import { randomUUID } from 'node:crypto';
import type { AuditEntry, Envelope } from '@rmm/contracts';
import { AuditTrail, NatsLink } from '@rmm/messaging';
import { WorkerDatabase } from '@rmm/persistence';
import { runInContext } from '@rmm/service-kit';
import { eventually } from '@rmm/testing-services';
import { expectStatus, freshEmail, IdentityTestApp, type IdentityReplica } from '../../test/identity-test-app.js';
import { registerPartner, signInAdmin } from '../../test/users.js';
import { AuditEntriesRepository } from './audit-entries.repository.js';

interface Row {
  id: string;
  action: string;
  sequence: string;
  details: Record<string, unknown>;
  user_agent: string | null;
  ip_address: string | null;
}

describe('AuditSealer', () => {
  let testApp: IdentityTestApp;
  let identity: IdentityReplica;
  let credentials: NatsLink;
  let root: string;

  beforeAll(async () => {
    testApp = await IdentityTestApp.start();
    identity = await testApp.startReplica();
    root = await signInAdmin(identity);
    credentials = new NatsLink({ url: testApp.nats.urlFor('credentials'), name: 'credentials-spec' });
    await credentials.open();
  }, 120_000);
  afterAll(async () => {
    await credentials?.close();
    await testApp.stop();
  });
  afterEach(() => jest.restoreAllMocks());

  const message = (partnerId: string | null, action: string, changes: Partial<AuditEntry> = {}): Envelope => ({
    id: randomUUID(),
    type: action,
    schemaVersion: 1,
    timestamp: new Date().toISOString(),
    partnerId,
    orgId: null,
    aggregateId: 'k1',
    aggregateVersion: 0,
    data: {
      actor: { type: 'user', id: 'u1', email: 'u1@users.test' },
      action,
      resourceType: 'api_key',
      resourceId: 'k1',
      resourceName: 'CI',
      details: {},
      ipAddress: '192.0.2.1',
      userAgent: 'spec',
      result: 'success',
      errorMessage: null,
      initiatedBy: 'u1',
      requestId: 'r1',
      ...changes,
    },
  });
  /** Publishes as the relay of another service, without `msgID`, because the stream would drop a repetition. */
  const publish = async (...messages: unknown[]) => {
    const stream = credentials.connection.jetstream();
    for (const each of messages) await stream.publish('rmm.audit.credentials', JSON.stringify(each));
  };
  const rowsOf = (partnerId: string) =>
    testApp.query<Row>('select * from audit_entry where partner_id = $1 order by sequence', [partnerId]);
  const sealed = (partnerId: string, count: number) =>
    eventually(async () => {
      const rows = await rowsOf(partnerId);
      expect(rows).toHaveLength(count);
      return rows;
    });
  const verified = async (partnerId: string) => {
    const response = await identity.get(`/audit-logs/verify?partnerId=${partnerId}`, { bearer: root });
    return expectStatus(response, 200).body.data.verified as boolean;
  };

  it('seals entries of other services in order of arrival', async () => {
    const partnerId = randomUUID();
    await publish(message(partnerId, 'api_key.create'), message(partnerId, 'api_key.revoke'));
    const rows = await sealed(partnerId, 2);
    expect(rows.map(({ action, sequence }) => [action, sequence])).toEqual([
      ['api_key.create', '1'],
      ['api_key.revoke', '2'],
    ]);
    expect(await verified(partnerId)).toBe(true);
  });

  it('stores one entry for a redelivered message, in the same batch or later', async () => {
    const partnerId = randomUUID();
    const twice = message(partnerId, 'api_key.create');
    await publish(twice, twice);
    await sealed(partnerId, 1);
    await publish(twice, message(partnerId, 'api_key.revoke'));
    const rows = await sealed(partnerId, 2);
    expect(rows.map(({ action }) => action)).toEqual(['api_key.create', 'api_key.revoke']);
    expect(await verified(partnerId)).toBe(true);
  });

  it('seals late entries in order of arrival', async () => {
    const partnerId = randomUUID();
    const late = { ...message(partnerId, 'site.create'), timestamp: '2026-01-05T00:00:00.000Z' };
    await publish(message(partnerId, 'api_key.create'), late);
    const rows = await sealed(partnerId, 2);
    expect(rows.map(({ action }) => action)).toEqual(['api_key.create', 'site.create']);
    expect(await verified(partnerId)).toBe(true);
    const { body } = await identity.get('/audit-logs/verify?partnerId=' + partnerId + '&from=2026-06-01T00:00:00Z', {
      bearer: root,
    });
    expect(body.data).toMatchObject({ verified: true, checkedRows: 2 });
  });

  it('hashes times and ids in the form in which they are read back', async () => {
    const partnerId = randomUUID();
    const details = {
      big: 1e21,
      tiny: 1e-7,
      minus: -0,
      long: 12_345_678_901_234_567_000,
      list: [null, { b: 1, a: 2 }],
    };
    await publish({
      ...message(partnerId.toUpperCase(), 'api_key.create', { details }),
      timestamp: '2026-11-20T13:00:00+01:00',
    });
    await sealed(partnerId, 1);
    expect(await verified(partnerId)).toBe(true);
  });

  it('rejects messages that are no audit entries and seals the others', async () => {
    const partnerId = randomUUID();
    const without = (name: keyof AuditEntry) => message(partnerId, 'bad', { [name]: undefined });
    await publish(
      { ...message(partnerId, 'bad'), id: 'no-uuid' },
      message('no-uuid', 'bad'),
      message(partnerId, 'bad', { result: 'maybe' as never }),
      message(partnerId, 'bad', { actor: { type: 'ghost' as never, id: null } }),
      message(partnerId, 'bad', { details: [] as never }),
      without('actor'),
      without('details'),
      without('resourceType'),
      message(partnerId, 'good', { resourceName: 'a\u0000b\ud800', details: { text: 'c\u0000d\ud800' } }),
    );
    const [row] = await sealed(partnerId, 1);
    expect(row).toMatchObject({ action: 'good', resource_name: 'a b\uFFFD', details: { text: 'c\uFFFDd\uFFFD' } });
    expect(await verified(partnerId)).toBe(true);
  });

  it('seals the other entries of a batch when the database refuses one', async () => {
    const partnerId = randomUUID();
    const repository = identity.app.get(AuditEntriesRepository);
    const insert = repository.insert.bind(repository);
    jest.spyOn(repository, 'insert').mockImplementation((tx, rows) => {
      if (rows.some(({ action }) => action === 'refused')) throw new Error('refused by the database');
      return insert(tx, rows);
    });
    await publish(message(partnerId, 'before'), message(partnerId, 'refused'), message(partnerId, 'after'));
    expect((await sealed(partnerId, 2)).map(({ action }) => action)).toEqual(['before', 'after']);
    jest.restoreAllMocks();
    expect((await sealed(partnerId, 3)).map(({ action }) => action)).toEqual(['before', 'after', 'refused']);
    expect(await verified(partnerId)).toBe(true);
  });

  describe('of a message with several entries', () => {
    /** Puts entries into one message, as an import does. */
    const inOneMessage = (...messages: Envelope[]): Envelope => ({
      ...message(messages[0].partnerId, 'audit.entries'),
      data: { entries: messages.map(({ id, orgId, data }) => ({ id, orgId, ...(data as AuditEntry) })) },
    });
    const numbered = (partnerId: string, count: number, from = 0) =>
      Array.from({ length: count }, (_, n) => message(partnerId, `act.${from + n}`));

    it('seals each in its order, once', async () => {
      const [partnerId, orgId] = [randomUUID(), randomUUID()];
      const entries = numbered(partnerId, 3).map((each) => ({ ...each, orgId }));
      await publish(inOneMessage(...entries), inOneMessage(...entries), message(partnerId, 'last'));
      const rows = await sealed(partnerId, 4);
      expect(rows.map(({ id }) => id).slice(0, 3)).toEqual(entries.map(({ id }) => id));
      expect(rows.map(({ action }) => action)).toEqual(['act.0', 'act.1', 'act.2', 'last']);
      expect(rows[0]).toMatchObject({ org_id: orgId, resource_id: 'k1', details: {} });
    });

    it('seals a large import a few hundred entries at a time', async () => {
      const partnerId = randomUUID();
      const insert = jest.spyOn(identity.app.get(AuditEntriesRepository), 'insert');
      const messages = Array.from({ length: 20 }, (_, n) => inOneMessage(...numbered(partnerId, 50, n * 50)));
      await publish(...messages);
      const rows = await sealed(partnerId, 1_000);
      expect(rows.map(({ action }) => action)).toEqual(Array.from({ length: 1_000 }, (_, n) => `act.${n}`));
      const sizes = insert.mock.calls.map(([, inserted]) => inserted.length);
      expect(Math.max(...sizes)).toBeLessThanOrEqual(250);
      expect(await verified(partnerId)).toBe(true);
    });

    it('seals the others when one is no audit entry', async () => {
      const partnerId = randomUUID();
      const foreign = message(partnerId, 'bad', { actor: { type: 'ghost' as never, id: null } });
      const withoutId = { ...message(partnerId, 'bad'), id: undefined as never };
      await publish(
        inOneMessage(message(partnerId, 'first'), foreign, withoutId, message(partnerId, 'second')),
        { ...message(partnerId, 'audit.entries'), data: { entries: 'none' } },
        { ...message(partnerId, 'audit.entries'), data: { entries: [null, 'x'] } },
        message(partnerId, 'last'),
      );
      expect((await sealed(partnerId, 3)).map(({ action }) => action)).toEqual(['first', 'second', 'last']);
    });

    it('seals the others when the database refuses one, and that one later', async () => {
      const partnerId = randomUUID();
      const repository = identity.app.get(AuditEntriesRepository);
      const insert = repository.insert.bind(repository);
      jest.spyOn(repository, 'insert').mockImplementation((tx, rows) => {
        if (rows.some(({ action }) => action === 'act.1')) throw new Error('refused by the database');
        return insert(tx, rows);
      });
      await publish(inOneMessage(...numbered(partnerId, 3)));
      expect((await sealed(partnerId, 2)).map(({ action }) => action)).toEqual(['act.0', 'act.2']);
      jest.restoreAllMocks();
      expect((await sealed(partnerId, 3)).map(({ action }) => action)).toEqual(['act.0', 'act.2', 'act.1']);
    });
  });

  it('redacts secrets in entries that a service built by hand', async () => {
    const partnerId = randomUUID();
    await publish(message(partnerId, 'api_key.create', { details: { nested: [{ token: 'abc' }] } }));
    expect((await sealed(partnerId, 1))[0].details).toEqual({ nested: [{ token: '[removed]' }] });
  });

  it('keeps one chain when several replicas seal', async () => {
    const replica = await testApp.startReplica();
    const partnerIds = [randomUUID(), randomUUID()];
    await publish(...Array.from({ length: 200 }, (_, i) => message(partnerIds[i % 2], `act.${i}`)));
    for (const partnerId of partnerIds) {
      await sealed(partnerId, 100);
      expect(await verified(partnerId)).toBe(true);
    }
    await replica.stop();
  });

  it('delivers entries from the outbox after an outage of the broker', async () => {
    const partner = await registerPartner(identity);
    await eventually(async () => expect((await rowsOf(partner.partnerId)).length).toBeGreaterThan(0));
    await testApp.nats.stop();
    const name = `Renamed ${freshEmail()}`;
    const response = await identity.patch('/users/me', { name }, { bearer: partner.bearer });
    expectStatus(response, 200);
    const waiting = await testApp.query(
      `select 1 from outbox where subject = 'rmm.audit.identity' and payload::json ->> 'partnerId' = $1`,
      [partner.partnerId],
    );
    expect(waiting.length).toBeGreaterThan(0);
    await testApp.nats.start();
    await eventually(async () => {
      expect((await rowsOf(partner.partnerId)).map(({ action }) => action)).toContain('user.profile.update');
    });
  });

  describe('request context', () => {
    it('records the client address behind trusted proxies and one line of the user agent', async () => {
      const partner = await registerPartner(identity);
      const headers = { 'user-agent': `Spec/1.0 ${'x'.repeat(2_000)}` };
      const from = '203.0.113.250, 198.51.100.77';
      expectStatus(await identity.patch('/users/me', { name: 'Pat' }, { bearer: partner.bearer, headers, from }), 200);
      const row = await eventually(async () => {
        const found = (await rowsOf(partner.partnerId)).find(({ action }) => action === 'user.profile.update');
        if (!found) throw new Error('not sealed yet');
        return found;
      });
      // The left address is what the client says of itself; the right one is what our proxy saw.
      expect(row.ip_address).toBe('198.51.100.77');
      expect(row.user_agent).toHaveLength(512);
    });

    it('removes line breaks from the user agent', async () => {
      const partnerId = randomUUID();
      const caller = { actor: { type: 'system', id: null }, tenant: { partnerId, orgId: null } } as const;
      await runInContext({ requestId: 'r', userAgent: 'Spec\r\n2026 forged line' }, () =>
        identity.app
          .get(WorkerDatabase)
          .transaction((tx) => identity.app.get(AuditTrail).record(tx, caller, 'user.update', { type: 't' })),
      );
      expect((await sealed(partnerId, 1))[0].user_agent).toBe('Spec 2026 forged line');
    });
  });
});
