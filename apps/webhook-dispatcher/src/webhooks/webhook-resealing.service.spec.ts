import { KeyRing } from '@rmm/secrets';
import type { Logger } from '@rmm/service-kit';
import { DispatcherTestDatabase } from '../../test/dispatcher-test-database.js';
import { SealedWebhooksRepository } from './sealed-webhooks.repository.js';
import { WebhookResealingService } from './webhook-resealing.service.js';
import { WebhookSealingService } from './webhook-sealing.service.js';

const keys = { old: Buffer.alloc(32, 1), fresh: Buffer.alloc(32, 2), lost: Buffer.alloc(32, 3) };
const sealingWith = (activeKid: keyof typeof keys, kids: (keyof typeof keys)[] = [activeKid]) =>
  new WebhookSealingService(new KeyRing({ keys: Object.fromEntries(kids.map((kid) => [kid, keys[kid]])), activeKid }));
const HEADERS = [{ key: 'Authorization', value: 'Bearer x' }];

describe('WebhookResealingService', () => {
  let database: DispatcherTestDatabase;
  const logger = { error: jest.fn(), warn: jest.fn() };
  const resealing = (sealing: WebhookSealingService) =>
    new WebhookResealingService(database.worker, new SealedWebhooksRepository(), sealing, logger as unknown as Logger);

  beforeAll(async () => {
    database = await DispatcherTestDatabase.start();
  }, 120_000);
  afterAll(() => database?.stop());
  beforeEach(async () => {
    jest.clearAllMocks();
    for (const table of ['request_shape', 'webhook_counter', 'webhook']) await database.rows(`DELETE FROM ${table}`);
  });

  /** Inserts webhooks whose texts a key has sealed, each with a request shape. */
  async function insert(count: number, sealing: WebhookSealingService, previous = sealing) {
    const organization = await database.organization();
    for (let n = 0; n < count; n += 1) {
      const id = await database.webhook(organization);
      await database.rows(
        `WITH sealed AS (
           UPDATE webhook SET url_sealed = $2, secret_sealed = $3, previous_secret_sealed = $4, headers = $5,
                              secret_overlap_until = now(), updated_at = '2020-01-01Z' WHERE id = $1
           RETURNING id, partner_id, org_id, headers)
         INSERT INTO request_shape (id, webhook_id, partner_id, org_id, names, headers)
         SELECT id, id, partner_id, org_id, '{Authorization}', headers FROM sealed`,
        [
          id,
          sealing.sealUrl(id, 'https://a.test/'),
          sealing.sealSecret(id, 'current'),
          previous.sealSecret(id, 'previous'),
          JSON.stringify(sealing.sealHeaders(id, HEADERS)),
        ],
      );
    }
  }
  const kids = async () => {
    const rows = await database.rows<{ kids: string }>(
      `SELECT DISTINCT split_part(text, '.', 2) AS kids
       FROM webhook w JOIN request_shape s ON s.id = w.id,
            unnest(ARRAY[url_sealed, secret_sealed, previous_secret_sealed, w.headers->0->>'value', s.headers->0->>'value'])
              AS t(text) ORDER BY 1`,
    );
    return rows.map((row) => row.kids);
  };

  it('seals everything with the active key after a rotation, also when replicas run at once', async () => {
    await insert(205, sealingWith('old'));
    const rotated = sealingWith('fresh', ['old', 'fresh']);
    await Promise.all([resealing(rotated).run(), resealing(rotated).run()]);
    await resealing(rotated).run();
    expect(await kids()).toEqual(['fresh']);
    const [row] = await database.rows<{ id: string; url: string; previous: string; headers: typeof HEADERS; at: Date }>(
      `SELECT w.id, url_sealed AS url, previous_secret_sealed AS previous, s.headers, updated_at AS at
       FROM webhook w JOIN request_shape s ON s.id = w.id LIMIT 1`,
    );
    const alone = sealingWith('fresh');
    const { id = '', url = '', previous = '', headers = [], at } = row ?? {};
    expect(alone.openUrl(id, url)).toBe('https://a.test/');
    expect(alone.openSecret(id, previous)).toBe('previous');
    expect(alone.openHeaders(id, headers)).toEqual(HEADERS);
    expect(at).toEqual(new Date('2020-01-01T00:00:00Z'));
    expect(logger.error).not.toHaveBeenCalled();
  });

  it('leaves texts whose key is gone, counts their rows and seals the others', async () => {
    await insert(2, sealingWith('old'), sealingWith('lost'));
    await resealing(sealingWith('fresh', ['old', 'fresh'])).run();
    expect(await kids()).toEqual(['fresh', 'lost']);
    expect(logger.error).toHaveBeenCalledWith(
      { table: 'webhook', unopened: 2 },
      expect.stringContaining('stay as they are'),
    );
  });

  it('logs a failure at the start, which the service survives', async () => {
    const database = { transaction: () => Promise.reject(new Error('down')) } as never;
    const failing = new WebhookResealingService(
      database,
      new SealedWebhooksRepository(),
      sealingWith('fresh'),
      logger as unknown as Logger,
    );
    failing.onApplicationBootstrap();
    await failing.onModuleDestroy();
    expect(logger.warn).toHaveBeenCalledTimes(1);
  });
});
