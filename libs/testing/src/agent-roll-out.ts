import type { FleetHandle } from './fleet-handle.js';
import { createOrganization, partnerWithMfa, untilStatus } from './users.js';

/** Registers a partner with an organization and an enrollment key for devices. @returns the key, and lines about the login */
export async function prepareRollOut(
  fleet: FleetHandle,
  maxUsage: number,
): Promise<{ enrollmentKey: string; lines: string[] }> {
  const { client, email, password, secret } = await partnerWithMfa(fleet);
  const { orgId } = await createOrganization(client);
  // credentials receives the organization as an event
  const { body } = await untilStatus(() => client.post('/enrollment-keys', { orgId, name: 'Agents', maxUsage }), 201);
  const lines = [`${email}, password: ${password}, code: ./fleet totp ${secret}`, `organization ${orgId}`];
  return { enrollmentKey: String((body as { key: string }).key), lines };
}
