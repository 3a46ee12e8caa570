import { randomBytes } from 'node:crypto';
import type { ApiClient, ApiResponse } from './api-client.js';
import type { FleetHandle } from './fleet-handle.js';
import { buildEnrollment, enrollTotp, inviteAndAccept, registerPartner, untilStatus } from './users.js';

const PARTNERS = {
  'Northwind IT Services': ['Blue Bakery', 'Harbour Dental', 'Oak & Sons Law', 'Pine Logistics'],
  'Alpine Managed IT': ['Bergbahn AG', 'Chalet Hotels', 'Dorf Apotheke', 'Edelweiss Print'],
};
const ROLES = ['Partner Technician', 'Partner Billing', 'Partner Viewer'];
const SITES = ['Head Office', 'Warehouse'];
const HOSTNAMES = ['dc-01', 'desk-01', 'edge-01'];

/** Fills a fleet with two partners through the public API. @returns lines that describe the logins */
export async function seedDemo(fleet: FleetHandle & { localReceivers: boolean }): Promise<string[]> {
  const lines: string[] = [];
  for (const [name, organizations] of Object.entries(PARTNERS)) {
    const partner = await registerPartner(fleet, name);
    const { client, secret } = await enrollTotp(partner.client);
    lines.push(name, `  password of every user: ${partner.password}`);
    lines.push(`  ${partner.email}  Partner Admin, code: ./fleet totp ${secret}`);
    const { data: roles } = (await created(client.get('/roles?limit=100'))) as { data: { id: string; name: string }[] };
    for (const role of ROLES) {
      const roleId = roles.find((each) => each.name === role)?.id;
      const user = await inviteAndAccept(fleet, client, { name: role, roleId, orgAccess: 'all' });
      lines.push(`  ${user.email}  ${role}`);
    }
    const orgIds: string[] = [];
    for (const organization of organizations) orgIds.push(await seedOrganization(client, organization));
    lines.push(`  ${organizations.join(', ')}: ${SITES.length} sites and ${HOSTNAMES.length} devices each`);
    if (fleet.localReceivers) lines.push(...(await seedWebhook(client, orgIds[0] ?? '')));
  }
  return lines;
}

async function seedOrganization(client: ApiClient, name: string): Promise<string> {
  const { id: orgId } = await created<{ id: string }>(client.post('/orgs/organizations', { name }));
  const siteIds: string[] = [];
  for (const site of SITES) {
    siteIds.push((await created<{ id: string }>(client.post('/orgs/sites', { orgId, name: site }))).id);
  }
  // credentials receives the organization as an event
  const { body } = await untilStatus(
    () => client.post('/enrollment-keys', { orgId, name: 'Roll-out', maxUsage: 500 }),
    201,
  );
  for (const [i, hostname] of HOSTNAMES.entries()) {
    const enrollment = buildEnrollment(String(body.key), `${name.toLowerCase().replace(/[^a-z]+/g, '-')}-${hostname}`);
    await created(client.as({}).post('/agents/enroll', { ...enrollment, siteId: siteIds[i % siteIds.length] }));
  }
  return orgId;
}

async function seedWebhook(client: ApiClient, orgId: string): Promise<string[]> {
  const secret = randomBytes(16).toString('hex');
  const webhook = {
    orgId,
    name: 'Ticket system',
    url: 'http://127.0.0.1:9377/hook',
    secret,
    events: ['device.*', 'alert.*'],
  };
  await created(client.post('/webhooks', webhook));
  return [`  webhook: ./fleet receiver --secret ${secret}`, `  event: ./fleet emit alert.triggered --org ${orgId}`];
}

async function created<T>(call: Promise<ApiResponse>): Promise<T> {
  const { status, body } = await call;
  if (status >= 300) throw new Error(`The API responded ${status}: ${JSON.stringify(body)}`);
  return body as T;
}
