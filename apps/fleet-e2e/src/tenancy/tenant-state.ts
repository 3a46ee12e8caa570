import { connect, headers } from 'nats';
import { randomUUID } from 'node:crypto';
import pg from 'pg';
import {
  createOrganization,
  eventually,
  freshAddress,
  partnerWithMfa,
  type ApiClient,
  type FleetHandle,
} from '@rmm/testing';
import { createApiKey, createPartnerKey, enrollDevice, machine } from '../credentials/machines.js';
import { natsServerOf } from '../nats-server.js';

/** A request that a partner's user or key may make, at one replica. */
export interface TenantCall {
  name: string;
  status: () => Promise<number>;
}

/** A partner with an organization, a device, an API key and a partner key. */
export async function buildTenant(fleet: FleetHandle) {
  const partner = await partnerWithMfa(fleet);
  const { client, partnerId } = partner;
  const { orgId } = await createOrganization(client);
  const deviceId = await enrollDevice(fleet, client, orgId);
  const { key: apiKey } = await createApiKey(client, orgId);
  const { key: partnerKey } = await createPartnerKey(client);
  return { client, partnerId, orgId, deviceId, apiKey, partnerKey };
}
export type Tenant = Awaited<ReturnType<typeof buildTenant>>;

/** Returns the calls of a tenant's users and keys, at every replica of every service. */
export function callsOf(fleet: FleetHandle, tenant: Tenant): TenantCall[] {
  const { client, orgId, deviceId, apiKey, partnerKey } = tenant;
  const asUser = (path: string) => (url: string) => withBaseUrl(client, url).get(path);
  const calls = [
    { service: 'identity', by: 'user', send: asUser('/users') },
    { service: 'credentials', by: 'user', send: asUser('/api-keys') },
    { service: 'provisioning', by: 'user', send: asUser('/orgs/organizations') },
    { service: 'webhook-dispatcher', by: 'user', send: asUser(`/webhooks?orgId=${orgId}`) },
    {
      service: 'provisioning',
      by: 'API key',
      send: (url: string) => machine(fleet, apiKey, url).get(`/devices/${deviceId}/custom-fields`),
    },
    {
      service: 'partner-gateway',
      by: 'partner key',
      send: (url: string) => machine(fleet, partnerKey, url).get('/partner-api/organizations'),
    },
  ];
  return calls.flatMap(({ service, by, send }) => {
    const { instances } = fleet.services.find(({ name }) => name === service) ?? { instances: [] };
    return instances.map(({ port }, replica) => ({
      name: `${by} at ${service} ${replica + 1}`,
      status: async () => (await send(`http://127.0.0.1:${port}`)).status,
    }));
  });
}

/** Returns a client for one replica, with an address of its own, so that polling meets no limit per address. */
export const withBaseUrl = (client: ApiClient, baseUrl: string): ApiClient => {
  const changes = { baseUrl, address: freshAddress() };
  return Object.assign(Object.create(Object.getPrototypeOf(client) as object) as ApiClient, client, changes);
};

/** Waits until every call is accepted. */
export const untilAllAccepted = (calls: readonly TenantCall[]): Promise<void> =>
  eventually(async () => {
    const found = await Promise.all(calls.map(async ({ name, status }) => `${name}: ${await status()}`));
    expect(found.filter((call) => !call.endsWith(': 200'))).toEqual([]);
  });

/** Repeats every call until it is refused. @returns the names and times of those that were accepted after `withinMs` */
export async function listAcceptedAfter(calls: readonly TenantCall[], withinMs: number): Promise<string[]> {
  const startedMs = performance.now();
  const late = await Promise.all(
    calls.map(async ({ name, status }) => {
      let acceptedMs = 0;
      while ((await status()) < 400) {
        acceptedMs = performance.now() - startedMs;
        if (acceptedMs > 10 * withinMs) return `${name}: never refused`;
      }
      return acceptedMs > withinMs ? `${name}: ${Math.round(acceptedMs)} ms` : null;
    }),
  );
  return late.filter((name) => name !== null);
}

/** Publishes an integration event as identity does, whatever its data. */
export async function publishPartnerEvent(
  fleet: FleetHandle,
  partnerId: string,
  data: object,
  schemaVersion = 1,
): Promise<void> {
  const connection = await connect(natsServerOf(fleet));
  try {
    const id = randomUUID();
    const sent = headers();
    sent.set('Nats-Msg-Id', id);
    const envelope = {
      id,
      type: 'partner.updated',
      schemaVersion,
      timestamp: new Date().toISOString(),
      partnerId,
      orgId: null,
      aggregateId: partnerId,
      aggregateVersion: (data as { version: number }).version,
      data,
    };
    await connection.jetstream().publish('rmm.internal.identity.partner.updated', JSON.stringify(envelope), {
      headers: sent,
    });
  } finally {
    await connection.close();
  }
}

/** Runs SQL as the administrator of the fleet's database. */
export async function query<Row extends object>(
  fleet: FleetHandle,
  sql: string,
  values: unknown[] = [],
): Promise<Row[]> {
  const client = new pg.Client({ connectionString: fleet.databaseUrl });
  await client.connect();
  try {
    return (await client.query<Row>(sql, values)).rows;
  } finally {
    await client.end();
  }
}
