import { randomUUID } from 'node:crypto';
import {
  connectToFleet,
  createOrganization,
  freshAddress,
  partnerWithMfa,
  type ApiClient,
  type SignedIn,
} from '@rmm/testing';
import { enrollDevice } from '../credentials/machines.js';
import { createWebhook, must, readMetric } from '../steps.js';
import { query } from '../tenancy/tenant-state.js';

const CALLERS = 20;
const ROUNDS = 5;
const MAX_RSS_BYTES = 400 * 1024 * 1024;
const KB_64 = 65_536;

describe('the largest pages', () => {
  const fleet = connectToFleet();
  let partner: SignedIn;
  let orgId: string;
  let deviceId: string;
  let webhookId: string;
  const runId = randomUUID();

  beforeAll(async () => {
    partner = await partnerWithMfa(fleet);
    ({ orgId } = await createOrganization(partner.client));
    deviceId = await enrollDevice(fleet, partner.client, orgId);
    ({ id: webhookId } = await createWebhook(partner.client, orgId, { url: 'http://127.0.0.1:9/' }));
    await seed();
  });

  /** Inserts rows of the largest size that the API accepts, of random text, which is not compressed when stored. */
  async function seed(): Promise<void> {
    const randomText = (bytes: number) => `(
      SELECT left(string_agg(md5(random()::text || n || i), ''), ${bytes}) FROM generate_series(0, ${bytes} / 32) i)`;
    const large = (count: number, bytes: number) =>
      `(SELECT n, ${randomText(bytes)} AS text FROM generate_series(1, ${count}) n) large`;
    await query(
      fleet,
      `SET session_replication_role = replica;
       INSERT INTO provisioning.device (partner_id, org_id, site_id, hostname, os_type, custom_fields, created_at, updated_at)
         SELECT d.partner_id, d.org_id, d.site_id, 'large-' || n, 'linux', jsonb_build_object('text', text), now(), now()
         FROM provisioning.device d, ${large(60, KB_64 - 100)} WHERE d.id = '${deviceId}';
       INSERT INTO provisioning.device_state (device_id, partner_id, org_id, status, metrics)
         SELECT id, partner_id, org_id, 'offline', jsonb_build_object('text', left(custom_fields ->> 'text', 16000))
         FROM provisioning.device WHERE org_id = '${orgId}' AND id <> '${deviceId}';
       INSERT INTO provisioning.organization (partner_id, name, name_key, slug, settings, created_at, updated_at)
         SELECT '${partner.partnerId}', 'Large ' || n, 'large ' || n, 'large-' || n, jsonb_build_object('text', text),
           now(), now()
         FROM ${large(60, KB_64 - 100)};
       INSERT INTO webhook_dispatcher.delivery
         (id, created_at, partner_id, org_id, webhook_id, event_type, event_id, max_attempts, status)
         SELECT gen_random_uuid(), now(), '${partner.partnerId}', '${orgId}', '${webhookId}', 'device.updated', 'large-' || n,
           5, 'failed'
         FROM generate_series(1, 20) n;
       INSERT INTO webhook_dispatcher.event_body (event_id, created_at, partner_id, org_id, body)
         SELECT d.event_id, d.created_at, d.partner_id, d.org_id, json_build_object('text', text)::text
         FROM webhook_dispatcher.delivery d JOIN ${large(20, 1_000_000 - 100)} ON d.event_id = 'large-' || n
         WHERE d.webhook_id = '${webhookId}';
       INSERT INTO provisioning.import_run (id, partner_id, kind, source, state, columns, mapping)
         SELECT '${runId}', '${partner.partnerId}', 'organizations', 'file', 'ready', jsonb_agg('c' || n), '{}'
         FROM generate_series(1, 90) n;
       INSERT INTO provisioning.import_run_row (run_id, partner_id, index, line, cells)
         SELECT '${runId}', '${partner.partnerId}', n, n, to_jsonb(array_fill(text, ARRAY[90]))
         FROM ${large(30, 10_000)}`,
    );
  }

  it.each([
    ['devices', 'provisioning', () => '/devices?limit=1000&include=customFields,hardware,metrics'],
    ['organizations', 'provisioning', () => '/orgs/organizations?limit=100'],
    ['rows of an import', 'provisioning', () => `/imports/${runId}/rows?limit=200`],
    ['deliveries', 'webhook-dispatcher', () => `/webhooks/${webhookId}/deliveries?limit=100`],
  ])('of %s for 20 callers at once leave the process below 400 MB', async (_what, service, pathOf) => {
    const port = fleet.services.find(({ name }) => name === service)?.instances[0]?.port;
    const clients = Array.from({ length: CALLERS }, () => clientAt(`http://127.0.0.1:${port}`));
    const sizes: number[] = [];
    let peak = 0;
    for (let round = 0; round < ROUNDS; round += 1) {
      const pages = Promise.all(clients.map((client) => client.get(pathOf())));
      peak = Math.max(peak, await readMetric(port, 'process_resident_memory_bytes'));
      for (const page of await pages) {
        const { truncated, nextCursor } = must(page, 200).pagination;
        expect(truncated === true || typeof nextCursor === 'string').toBe(true);
        sizes.push(JSON.stringify(page.body).length);
      }
      peak = Math.max(peak, await readMetric(port, 'process_resident_memory_bytes'));
    }
    expect(Math.min(...sizes)).toBeGreaterThan(900_000);
    expect(Math.max(...sizes)).toBeLessThan(2_100_000);
    expect(peak).toBeLessThan(MAX_RSS_BYTES);
  });

  it('have no device whose custom fields grew beyond 64 KB in many requests', async () => {
    const patch = (n: number) => partner.client.patch(`/devices/${deviceId}/custom-fields`, fieldsOf(n));
    const statuses: number[] = [];
    for (let n = 0; n < 5; n += 1) statuses.push((await patch(n)).status);
    expect(statuses).toEqual([200, 200, 200, 400, 400]);
    const { customFields } = must(await partner.client.get(`/devices/${deviceId}/custom-fields`), 200);
    expect(JSON.stringify(customFields).length).toBeLessThanOrEqual(KB_64);
  });

  it('have no organization whose settings grew beyond 64 KB in many requests', async () => {
    const path = `/orgs/organizations/${orgId}`;
    const statuses: number[] = [];
    for (let n = 0; n < 5; n += 1) {
      const settings = { [`k${n}`]: 'x'.repeat(20_000) };
      statuses.push((await partner.client.patch(path, { settings })).status);
    }
    expect(statuses).toEqual([200, 200, 200, 400, 400]);
    expect(JSON.stringify(must(await partner.client.get(path), 200).settings).length).toBeLessThanOrEqual(KB_64);
  });

  /** Returns a client for one replica, with an address of its own, so that the callers do not share a limit. */
  const clientAt = (baseUrl: string): ApiClient =>
    Object.assign(Object.create(Object.getPrototypeOf(partner.client) as object) as ApiClient, partner.client, {
      baseUrl,
      address: freshAddress(),
    });
  /** About 20 KB of fields. */
  const fieldsOf = (n: number) =>
    Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`k${n}-${i}`, 'x'.repeat(1_000)]));
});
