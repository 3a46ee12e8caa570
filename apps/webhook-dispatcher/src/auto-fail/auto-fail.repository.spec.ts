import type { WorkerTransaction } from '@rmm/persistence';
import { DispatcherTestDatabase } from '../../test/dispatcher-test-database.js';
import type { Organization } from '../../test/organizations.js';
import { AutoFailRepository } from './auto-fail.repository.js';

const FAILING_HOURS = 120;

describe('AutoFailRepository', () => {
  let database: DispatcherTestDatabase;
  let repository: AutoFailRepository;
  let organization: Organization;

  beforeAll(async () => {
    database = await DispatcherTestDatabase.start();
    repository = new AutoFailRepository(database.worker);
    organization = await database.organization();
  }, 120_000);
  afterEach(() => database.rows('DELETE FROM webhook_counter').then(() => database.rows('DELETE FROM webhook')));
  afterAll(() => database?.stop());

  /** Inserts a webhook that fails for so many hours; null for one that does not fail. */
  const add = async (hours: number | null, status = 'active') => {
    const id = await database.webhook(organization, status);
    await database.rows(
      'UPDATE webhook_counter SET failing_since = now() - make_interval(hours => $2) WHERE webhook_id = $1',
      [id, hours],
    );
    return id;
  };
  const addGone = (webhookId: string, minutesAgo: number, responseStatus = 410) =>
    database.rows(
      `INSERT INTO dead_letter (delivery_id, failed_at, created_at, partner_id, org_id, webhook_id, event_type, event_id,
         attempts, response_status)
       VALUES (gen_random_uuid(), now() - make_interval(mins => $2), now(), $3, $4, $1, 'device.online', 'e', 1, $5)`,
      [webhookId, minutesAgo, organization.partnerId, organization.orgId, responseStatus],
    );
  const fail = (work: (tx: WorkerTransaction) => Promise<unknown> = () => Promise.resolve()) =>
    database.worker.transaction(async (tx) => {
      const failed = await repository.failDeadWebhooks(tx, FAILING_HOURS);
      await work(tx);
      return failed;
    });

  it('fails the active webhooks that have failed for too long, and schedules a mail for each', async () => {
    const dead = await add(121);
    await Promise.all([add(119), add(null), add(500, 'disabled'), add(500, 'error')]);
    expect(await fail()).toEqual([
      { id: dead, ...organization, name: 'Hook', failingSince: expect.any(Date), isGone: false },
    ]);
    expect(await database.rows('SELECT status FROM webhook WHERE id = $1', [dead])).toEqual([{ status: 'error' }]);
    expect(await fail()).toEqual([]);
    const mails = await repository.listDueMails();
    expect(mails).toMatchObject([{ id: dead, ...organization, name: 'Hook', organizationName: 'Org' }]);
  });

  it('names the partner in the mail about a webhook of its own', async () => {
    const id = await add(200);
    await database.rows('UPDATE webhook SET org_id = NULL WHERE id = $1', [id]);
    await database.rows(
      `INSERT INTO partner_directory (partner_id, name, status, version) VALUES ($1, 'The partner', 'active', 1)`,
      [organization.partnerId],
    );
    expect(await fail()).toMatchObject([{ id, partnerId: organization.partnerId, orgId: null }]);
    const expected = { id, partnerId: organization.partnerId, orgId: null, organizationName: 'The partner' };
    expect(await repository.listDueMails()).toMatchObject([expected]);
  });

  it('fails at once what its receiver says is gone', async () => {
    const [gone, earlier, old, other] = [await add(1), await add(1), await add(2), await add(1)];
    await addGone(gone, 5);
    await database.rows(
      `UPDATE webhook_counter SET failing_since = now() - INTERVAL '10 minutes' WHERE webhook_id = $1`,
      [earlier],
    );
    await addGone(earlier, 20); // before its failures began
    await addGone(old, 31);
    await addGone(other, 5, 404);
    expect(await fail()).toMatchObject([{ id: gone, isGone: true }]);
  });

  it('fails each webhook once under concurrent replicas', async () => {
    const ids = [await add(200), await add(200), await add(200)];
    let waiting = 2;
    let release = () => undefined as void;
    const bothHaveRead = new Promise<void>((resolve) => (release = resolve));
    const replica = () => fail(() => ((waiting -= 1) === 0 && release(), bothHaveRead));
    const failed = (await Promise.all([replica(), replica()])).flat().map(({ id }) => id);
    expect(failed.sort()).toEqual(ids.sort());
  });

  it('lists a due mail until it is marked, unless the webhook failed again', async () => {
    await add(200);
    await fail();
    const [mail] = await repository.listDueMails();
    if (!mail) throw new Error('no mail is due');
    await repository.markMailed({ ...mail, failedAt: new Date(mail.failedAt.getTime() - 1) });
    expect(await repository.listDueMails()).toHaveLength(1);
    await repository.markMailed(mail);
    expect(await repository.listDueMails()).toEqual([]);
  });
});
