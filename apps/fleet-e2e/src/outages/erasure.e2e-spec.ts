import pg from 'pg';
import {
  type ApiClient,
  connectToFleet,
  createOrganization,
  eventually,
  partnerWithMfa,
  readFleetStatus,
} from '@rmm/testing';
import { createApiKey, enrollDevice } from '../credentials/machines.js';
import { enrollmentKey, must } from '../steps.js';
import { query } from '../tenancy/tenant-state.js';
import { killService, untilReady } from './killing.js';

jest.setTimeout(600_000);

/** More than two batches of an erasure. */
const RECORDS = 1_200;

interface Report {
  status: string;
  services: { service: string; erased: Record<string, number> }[];
}

/** Services with the rows that are erased first, which are inserted, and the next ones, which are locked to stop the erasure. */
const CASES = [
  {
    service: 'provisioning',
    first: 'contact',
    insert: `INSERT INTO provisioning.contact (partner_id, org_id, name)
      SELECT partner_id, id, 'Contact ' || n FROM provisioning.organization, generate_series(1, ${RECORDS}) n WHERE id = $1`,
    next: 'device',
    progress: `SELECT (erased ->> 'contact')::int AS erased FROM provisioning.organization_erasure_part
      WHERE org_id = $1 AND service = 'provisioning'`,
    erased: { contact: RECORDS, device: 1, site: 1 },
  },
  {
    service: 'credentials',
    first: 'api_key',
    insert: `INSERT INTO credentials.api_key (partner_id, org_id, name, key_prefix, key_hash, scopes, rate_limit)
      SELECT partner_id, id, 'Key ' || n, 'rmm_', sha256((id::text || n)::bytea), '{}', 100
        FROM provisioning.organization, generate_series(2, ${RECORDS}) n WHERE id = $1`,
    next: 'enrollment_key',
    progress: `SELECT (erased ->> 'api_key')::int AS erased FROM credentials.organization_erasure WHERE org_id = $1`,
    erased: { api_key: RECORDS, enrollment_key: 2 },
  },
] as const;

describe('the erasure of an organization', () => {
  const fleet = connectToFleet();
  let client: ApiClient;
  const admin = new pg.Client({ connectionString: fleet.databaseUrl });

  beforeAll(async () => {
    client = (await partnerWithMfa(fleet)).client;
    await admin.connect();
  });
  afterAll(() => admin.end());
  afterEach(async () => {
    await admin.query('ROLLBACK');
    await untilReady();
  });

  async function buildCustomer(): Promise<string> {
    const { orgId } = await createOrganization(client);
    await enrollDevice(fleet, client, orgId);
    await enrollmentKey(client, orgId);
    await createApiKey(client, orgId);
    return orgId;
  }

  const numberOf = async (table: string, orgId: string): Promise<number> => {
    const sql = `SELECT count(*)::int AS number FROM ${table} WHERE org_id = $1`;
    return (await query<{ number: number }>(fleet, sql, [orgId]))[0].number;
  };

  it.each(CASES)(
    'is finished after every process of $service was killed in it, and counts each record once',
    async ({ service, first, insert, next, progress, erased }) => {
      const [orgId, otherId] = [await buildCustomer(), await buildCustomer()];
      await query(fleet, insert, [orgId]);
      const { slug } = must(await client.get(`/orgs/organizations/${orgId}`), 200);
      must(await client.delete(`/orgs/organizations/${orgId}`), 200);
      await admin.query('BEGIN');
      await admin.query(`SELECT FROM ${service}.${next} WHERE org_id = $1 FOR UPDATE`, [orgId]);
      must(await client.post(`/orgs/organizations/${orgId}/erasure`, { slug }), 202);

      await eventually(
        async () => {
          expect((await query(fleet, progress, [orgId]))[0]).toEqual({ erased: RECORDS });
          const sql = `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%DELETE FROM ${next} %'`;
          expect((await query(fleet, sql)).length).toBeGreaterThan(0);
        },
        { timeoutMs: 180_000 },
      );
      const { services } = await readFleetStatus();
      const instances = services.find(({ name }) => name === service)?.instances ?? [];
      for (const index of instances.keys()) await killService(service, index);
      expect(await numberOf(`${service}.${first}`, orgId)).toBe(0);
      expect(await numberOf(`${service}.${next}`, orgId)).toBeGreaterThan(0);
      await admin.query('ROLLBACK');

      await untilReady();
      const report = await eventually(
        async () => {
          const body = must(await client.get(`/orgs/organizations/${orgId}/erasure`), 200) as unknown as Report;
          expect(body.status).toBe('finished');
          return body;
        },
        { timeoutMs: 180_000, everyMs: 500 },
      );
      expect(report.services.find((part) => part.service === service)?.erased).toEqual(erased);
      expect(report.services.map((part) => part.service).sort()).toEqual([
        'credentials',
        'identity',
        'provisioning',
        'webhook-dispatcher',
      ]);
      expect(await numberOf(`${service}.${next}`, orgId)).toBe(0);
      expect(await numberOf(`${service}.${next}`, otherId)).toBeGreaterThan(0);
    },
  );
});
