import { randomUUID } from 'node:crypto';
import { ApiClient, buildEnrollment, type ApiResponse, type FleetHandle } from '@rmm/testing';
import { enrollmentKey, must } from '../steps.js';

const PRINCIPALS = '/partner-service-principals';

/** Returns a client with a key, for the edge or for one replica. */
export const machine = (fleet: Pick<FleetHandle, 'baseUrl'>, apiKey: string, baseUrl = fleet.baseUrl): ApiClient =>
  new ApiClient(baseUrl).as({ apiKey });

/** Creates an API key of an organization. */
export async function createApiKey(
  client: ApiClient,
  orgId: string,
  more: object = {},
): Promise<{ id: string; key: string; keyPrefix: string }> {
  const body = { orgId, name: 'Sync', scopes: ['devices:read', 'devices:write'], ...more };
  return must(await client.post('/api-keys', body), 201) as { id: string; key: string; keyPrefix: string };
}

/** Creates a principal of the partner with one key. @param more  of the principal @param ofKey  of its key */
export async function createPartnerKey(
  client: ApiClient,
  more: object = {},
  ofKey: object = {},
): Promise<{ principalId: string; keyId: string; key: string }> {
  const { data } = must(await client.post(PRINCIPALS, { name: `Exporter ${randomUUID()}`, ...more }), 201);
  const { keyId, key } = must(await client.post(`${PRINCIPALS}/${data.id}/keys`, { name: 'First', ...ofKey }), 201);
  return { principalId: data.id, keyId, key };
}

/** Enrolls a device of an organization. @returns its id */
export async function enrollDevice(
  fleet: FleetHandle,
  client: ApiClient,
  orgId: string,
  siteId?: string,
): Promise<string> {
  const key = await enrollmentKey(client, orgId, siteId === undefined ? {} : { siteId });
  return must(await new ApiClient(fleet.baseUrl).post('/agents/enroll', buildEnrollment(key)), 201).deviceId as string;
}

export const RATE_HEADERS = ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset'] as const;

/** Returns the three rate headers as numbers, NaN where one is missing. */
export const rateOf = ({ headers }: ApiResponse): number[] =>
  RATE_HEADERS.map((name) => Number(headers.get(name) ?? NaN));
