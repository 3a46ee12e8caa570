import { connectToFleet, createOrganization, partnerWithMfa, type SignedIn } from '@rmm/testing';
import { readMetric } from '../steps.js';
import { query } from './tenant-state.js';

const DEVICES = 100_000;
const MAX_RSS_BYTES = 400 * 1024 * 1024;

describe('the export of an organization with 100,000 devices', () => {
  const fleet = connectToFleet();
  let partner: SignedIn;
  let orgId: string;

  beforeAll(async () => {
    partner = await partnerWithMfa(fleet);
    ({ orgId } = await createOrganization(partner.client));
    const owner = `'${partner.partnerId}'::uuid, '${orgId}'::uuid`;
    await query(
      fleet,
      `SET session_replication_role = replica;
       INSERT INTO provisioning.device (partner_id, org_id, hostname, os_type, custom_fields, created_at, updated_at)
         SELECT ${owner}, 'pc-' || n, 'linux', jsonb_build_object('note', repeat('x', 500)), now(), now()
         FROM generate_series(1, ${DEVICES}) n;
       INSERT INTO provisioning.device_state (device_id, partner_id, org_id, status)
         SELECT id, partner_id, org_id, 'offline' FROM provisioning.device WHERE org_id = '${orgId}';
       INSERT INTO provisioning.device_hardware (device_id, partner_id, org_id, hardware, created_at, updated_at)
         SELECT id, partner_id, org_id, '{"cpu": {"cores": 8}}', now(), now()
         FROM provisioning.device WHERE org_id = '${orgId}';
       SET session_replication_role = DEFAULT;
       ANALYZE provisioning.device, provisioning.device_state, provisioning.device_hardware`,
    );
  }, 240_000);

  it('is complete, and leaves each process of the fleet below 400 MB', async () => {
    const ports = fleet.services.flatMap(({ instances }) => instances.map(({ port }) => port));
    const peaks = new Map<number, number>();
    const measure = async () => {
      for (const port of ports) {
        const bytes = await readMetric(port, 'process_resident_memory_bytes');
        peaks.set(port, Math.max(peaks.get(port) ?? 0, bytes));
      }
    };
    const response = await fetch(`${fleet.baseUrl}/api/v1/orgs/organizations/${orgId}/export`, {
      headers: { authorization: `Bearer ${partner.client.credentials.bearer}` },
    });
    expect(response.status).toBe(200);
    let [received, measured, tail] = [0, 0, ''];
    for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
      received += chunk.length;
      tail = (tail + Buffer.from(chunk).toString('latin1')).slice(-2_000);
      if (received < measured + 8 * 1024 * 1024) continue;
      measured = received;
      await measure();
    }
    await measure();
    const last = JSON.parse(tail.trimEnd().split('\n').at(-1) ?? '') as { data: object };
    expect(last.data).toMatchObject({ complete: true, counts: { device: DEVICES, device_hardware: DEVICES } });
    expect(peaks.size).toBeGreaterThanOrEqual(5);
    expect(Math.max(...peaks.values())).toBeLessThan(MAX_RSS_BYTES);
  }, 300_000);
});
