import { randomUUID } from 'node:crypto';
import { WorkerDatabase } from '@rmm/persistence';
import { freshEmail, IdentityTestApp, type IdentityReplica } from '../../test/identity-test-app.js';
import { registerPartner } from '../../test/users.js';
import { MailRepository } from './mail.repository.js';
import { MailService } from './mail.service.js';

describe('MailRepository', () => {
  let testApp: IdentityTestApp;
  let identity: IdentityReplica;
  let mails: MailRepository;

  beforeAll(async () => {
    testApp = await IdentityTestApp.start();
    identity = await testApp.startReplica();
    mails = identity.app.get(MailRepository);
  }, 120_000);
  afterEach(() => jest.restoreAllMocks());
  afterAll(() => testApp.stop());

  /** Stores a mail that nothing but the spec sends: the sweep queues no job. */
  const store = async (changes: { recipient?: string; locale?: string; idempotencyKey?: string } = {}) => {
    jest.spyOn(identity.app.get(MailService), 'enqueue').mockReturnValue();
    const id = randomUUID();
    const mail = { recipient: freshEmail(), locale: 'en', idempotencyKey: null, valuesSealed: 'sealed', ...changes };
    const isStored = await identity.app
      .get(WorkerDatabase)
      .transaction((tx) => mails.insert(tx, { id, template: 'password-changed', ...mail }));
    return { id, isStored };
  };
  const rowOf = async (id: string) => {
    const [row] = await testApp.query<{
      sealed: string | null;
      error: string | null;
      wait: number;
      abandoned: boolean;
    }>(
      `SELECT values_sealed AS sealed, last_error AS error, abandoned_at IS NOT NULL AS abandoned,
         round(extract(epoch FROM next_attempt_at - now()))::integer AS wait FROM mail WHERE id = $1`,
      [id],
    );
    return row;
  };

  it('stores one mail per idempotency key', async () => {
    const idempotencyKey = randomUUID();
    expect((await store({ idempotencyKey })).isStored).toBe(true);
    expect((await store({ idempotencyKey })).isStored).toBe(false);
  });

  it('stores many mails at once', async () => {
    const rows = Array.from({ length: 3 }, () => ({
      ...{ id: randomUUID(), recipient: freshEmail(), template: 'sso-unlinked' as const, locale: '' },
      ...{ valuesSealed: 'sealed', idempotencyKey: null },
    }));
    await identity.app.get(WorkerDatabase).transaction((tx) => mails.insertAll(tx, rows));
    const due = await mails.listDue(1_000);
    expect(due).toEqual(expect.arrayContaining(rows.map(({ id }) => id)));
    expect((await mails.lease(rows[0]?.id ?? ''))?.valuesSealed).toBe('sealed');
  });

  it('leases a mail that is due to one worker at a time', async () => {
    const { id } = await store();
    expect(await mails.listDue(100)).toContain(id);
    const leases = await Promise.all([1, 2, 3].map(() => mails.lease(id)));
    expect(leases.filter((lease) => lease !== null)).toEqual([
      expect.objectContaining({ id, template: 'password-changed', locale: 'en', valuesSealed: 'sealed', attempts: 1 }),
    ]);
    expect(await mails.listDue(100)).not.toContain(id);
  });

  it("leases a mail without a locale in the recipient's, else its partner's, else English", async () => {
    const { partnerId, email, userId } = await registerPartner(identity);
    const localeFor = async (recipient: string) =>
      (await mails.lease((await store({ recipient, locale: '' })).id))?.locale;
    expect(await localeFor(email)).toBe('en');
    await testApp.query(`UPDATE partner SET settings = '{"locale": "de-AT"}' WHERE id = $1`, [partnerId]);
    expect(await localeFor(email)).toBe('de-AT');
    await testApp.query(`UPDATE user_account SET preferences = '{"locale": "fr"}' WHERE id = $1`, [userId]);
    expect(await localeFor(email)).toBe('fr');
    expect(await localeFor(freshEmail())).toBe('en');
  });

  it('deletes the values of a sent mail, which is not sent again', async () => {
    const { id } = await store();
    await mails.markSent(id);
    expect(await rowOf(id)).toMatchObject({ sealed: null, abandoned: false });
    expect(await mails.lease(id)).toBeNull();
  });

  it('waits longer after each failure, and gives up after the eighth', async () => {
    const { id } = await store();
    const fail = async (attempts: number) => {
      await testApp.query('UPDATE mail SET attempts = $2, next_attempt_at = now() WHERE id = $1', [id, attempts - 1]);
      await mails.lease(id);
      await mails.markFailed(id, 'refused'.repeat(100));
      return rowOf(id);
    };
    expect(await fail(1)).toMatchObject({ wait: 10, abandoned: false, error: expect.stringMatching(/^.{500}$/) });
    expect(await fail(3)).toMatchObject({ wait: 90, abandoned: false });
    expect(await fail(8)).toMatchObject({ abandoned: true });
    await testApp.query('UPDATE mail SET next_attempt_at = now() WHERE id = $1', [id]);
    expect([await mails.lease(id), await mails.listDue(100)]).toEqual([null, expect.not.arrayContaining([id])]);
  });

  it('purges mails a week after they were sent or given up, and no waiting ones', async () => {
    const [sent, waiting, recent] = [await store(), await store(), await store()];
    await mails.markSent(sent.id);
    await mails.markSent(recent.id);
    await testApp.query(`UPDATE mail SET created_at = now() - INTERVAL '8 days' WHERE id = ANY($1)`, [
      [sent.id, waiting.id],
    ]);
    await mails.purge(100);
    expect(await rowOf(sent.id)).toBeUndefined();
    expect([await rowOf(waiting.id), await rowOf(recent.id)]).toEqual([expect.anything(), expect.anything()]);
  });

  it('lists the administrators of the partner as the audience when no member has the permission', async () => {
    const { partnerId, email } = await registerPartner(identity);
    const audience = { partnerId, orgId: randomUUID(), permission: 'organizations:write' } as const;
    expect(await mails.listAudience(audience)).toEqual([{ email, name: 'Pat Morgan' }]);
    expect(await mails.listAudience({ ...audience, orgId: null })).toEqual([{ email, name: 'Pat Morgan' }]);
  });
});
