import { randomBytes, randomInt } from 'node:crypto';
import path from 'node:path';
import { generate } from 'otplib';
import { bold, dim, say } from '../console.js';
import { FleetError } from '../errors.js';
import { getRunningFleet } from '../fleet/state.js';
import { readMessages } from '../mailbox/mailbox.js';
import { FLEET_DIR, MAILBOX_DIR, readJson, writeAtomically } from '../paths.js';
import { poll } from '../processes/run.js';

const RESULT_FILE = path.join(FLEET_DIR, 'seed.json');
const PARTNERS = {
  'Northwind IT Services': ['Blue Bakery', 'Harbour Dental', 'Oak & Sons Law', 'Pine Logistics'],
  'Alpine Managed IT': ['Bergbahn AG', 'Chalet Hotels', 'Dorf Apotheke', 'Edelweiss Print'],
};
/** Users of each partner, with the names of GET /roles; the last one may access one organization only. */
const ROLES = ['Partner Technician', 'Partner Billing', 'Partner Viewer'];
const SITES = ['Head Office', 'Warehouse'];
const DEVICES = [
  { hostname: 'dc-01', osType: 'windows', osVersion: 'Windows Server 2022', architecture: 'amd64' },
  { hostname: 'mac-01', osType: 'macos', osVersion: '15.1', architecture: 'arm64' },
  { hostname: 'edge-01', osType: 'linux', osVersion: 'Debian 12', architecture: 'amd64' },
];

interface SeedResult {
  complete: boolean;
  /** Lines to print. */
  lines: string[];
}

/** Fills the running fleet with a demo through the public API. A second call prints the logins again. */
export async function seed(): Promise<void> {
  const { baseUrl, admin, localReceivers } = getRunningFleet().summary;
  const previous = readJson<SeedResult>(RESULT_FILE);
  if (previous?.complete) return console.log(previous.lines.join('\n'));
  if (previous)
    throw new FleetError('An earlier seed was interrupted. Start again with: ./fleet down, reset, up, seed');

  const password = `demo-${randomBytes(6).toString('hex')}`;
  const lines = [`\n${bold('The demo is created.')} Password of every user: ${bold(password)}\n`];
  writeAtomically(RESULT_FILE, JSON.stringify({ complete: false, lines }));
  const anonymous = new ApiClient(baseUrl);
  const { tokens } = await anonymous.post('/auth/login', admin);
  if (!tokens) throw new FleetError('The administrator has MFA enabled; seed a new fleet after: ./fleet reset');
  const platform = anonymous.as(tokens.accessToken);
  for (const [name, organizations] of Object.entries(PARTNERS)) {
    lines.push(...(await seedPartner(platform, { name, organizations, password, localReceivers })));
  }
  writeAtomically(RESULT_FILE, JSON.stringify({ complete: true, lines }));
  console.log(lines.join('\n'));
}

/** Creates a partner with organizations, users, devices and a webhook. @returns lines that describe it */
async function seedPartner(
  platform: ApiClient,
  {
    name,
    organizations,
    password,
    localReceivers,
  }: Record<'name' | 'password', string> & { organizations: string[]; localReceivers: boolean },
): Promise<string[]> {
  const domain = `${name.split(' ')[0]?.toLowerCase()}.example`;
  const email = `admin@${domain}`;
  await platform.post('/orgs/partners', { name, admin: { email, name: 'Ada Admin' } });
  const invited = platform.as(await acceptInvite(platform, email, password));
  const { secret } = await invited.post('/auth/mfa/setup');
  await invited.post('/auth/mfa/enable', { code: await totpCode(secret) });
  const { tempToken } = await platform.as(null).post('/auth/login', { email, password });
  const code = await totpCode(secret, 1); // a code is accepted once; the next one is within the allowed drift
  const client = platform.as(
    (await platform.as(null).post('/auth/mfa/verify', { tempToken, code })).tokens.accessToken,
  );
  say(`partner ${name}`);

  const orgIds: string[] = [];
  for (const organization of organizations) orgIds.push(await seedOrganization(client, organization));
  say(`  ${orgIds.length} organizations with ${SITES.length} sites and ${DEVICES.length} devices each`);
  const lines = [
    `  ${bold(name)}  ${dim(organizations.join(', '))}`,
    `    ${email}  ${dim(`code: ./fleet totp ${secret}`)}`,
  ];
  const { data: roles } = (await client.get('/roles?limit=100')) as unknown as { data: { id: string; name: string }[] };
  for (const role of ROLES) {
    const user = `${role.replace('Partner ', '').toLowerCase()}@${domain}`;
    const access = role === ROLES.at(-1) ? { orgAccess: 'selected', orgIds: orgIds.slice(0, 1) } : { orgAccess: 'all' };
    const roleId = roles.find((each) => each.name === role)?.id;
    await client.post('/users/invite', { email: user, name: role, roleId, ...access });
    await acceptInvite(client, user, password);
    lines.push(`    ${user.padEnd(36)} ${role}`);
  }
  if (!localReceivers) return [...lines, dim('    No webhook: run ./fleet up --local-receivers before ./fleet seed')];
  const webhook = { orgId: orgIds[0], url: 'http://127.0.0.1:9377/hook', secret: randomBytes(16).toString('hex') };
  await client.post('/webhooks', { ...webhook, name: 'Ticket system', events: ['device.*', 'alert.*'] });
  return [
    ...lines,
    `    webhook: ./fleet receiver --secret ${webhook.secret}`,
    `    event: ./fleet emit alert.triggered --org ${webhook.orgId}`,
  ];
}

async function seedOrganization(client: ApiClient, name: string): Promise<string> {
  const { id: orgId } = await client.post('/orgs/organizations', { name });
  const sites: string[] = [];
  for (const site of SITES) sites.push((await client.post('/orgs/sites', { orgId, name: site })).id);
  // credentials receives the organization as an event
  const createKey = () => client.post('/enrollment-keys', { orgId, name: 'Roll-out', maxUsage: 500 }).catch(() => null);
  const key = await poll(createKey, { timeoutMs: 10_000, everyMs: 100 });
  const prefix = name.toLowerCase().replace(/[^a-z]+/g, '-');
  for (const [i, device] of DEVICES.entries()) {
    const agent = { enrollmentKey: key?.key, siteId: sites[i % sites.length], agentVersion: '1.0.0' };
    await client.as(null).post('/agents/enroll', { ...device, ...agent, hostname: `${prefix}-${device.hostname}` });
  }
  return orgId;
}

/** Accepts an invitation with the link of its mail. @returns the access token of the new session */
async function acceptInvite(client: ApiClient, email: string, password: string): Promise<string> {
  const findToken = async () => {
    const messages = await readMessages(MAILBOX_DIR, email);
    return messages.map(({ text }) => /token=([A-Za-z0-9_-]+)/.exec(text)?.[1]).find(Boolean);
  };
  const token = await poll(findToken, { timeoutMs: 15_000, everyMs: 100 });
  if (!token) throw new FleetError(`No mail with a link arrived for ${email}.`);
  return (await client.as(null).post('/auth/accept-invite', { token, password })).tokens.accessToken;
}

/** Returns the code of an authenticator app. @param steps  half minutes from now */
export function totpCode(secret: string, steps = 0): Promise<string> {
  if (!/^[A-Z2-7]+=*$/i.test(secret))
    throw new FleetError('The secret must be base32, as the set-up of MFA returns it.');
  return generate({
    secret: secret.toUpperCase().replace(/=+$/, ''),
    epoch: Math.floor(Date.now() / 1_000) + steps * 30,
  });
}

/** The fields of responses that the seed reads. */
type Body = Record<'id' | 'key' | 'secret' | 'tempToken', string> & { tokens: { accessToken: string } };

/** A caller of the public API. Each has an address of its own, as different users and machines do. */
class ApiClient {
  private readonly address = `10.${randomInt(256)}.${randomInt(256)}.${randomInt(1, 255)}`;

  constructor(
    private readonly baseUrl: string,
    private readonly token: string | null = null,
  ) {}

  as(token: string | null): ApiClient {
    return new ApiClient(this.baseUrl, token);
  }

  get(path: string): Promise<Body> {
    return this.send('GET', path);
  }

  post(path: string, body: object = {}): Promise<Body> {
    return this.send('POST', path, body);
  }

  /** @throws FleetError with the error of the API */
  private async send(method: string, path: string, body?: object): Promise<Body> {
    const authorization = this.token ? { authorization: `Bearer ${this.token}` } : {};
    const headers = { 'x-forwarded-for': this.address, 'content-type': 'application/json', ...authorization };
    const init = { method, headers, ...(body && { body: JSON.stringify(body) }) };
    const response = await fetch(`${this.baseUrl}/api/v1${path}`, init);
    const parsed = (await response.json()) as Body & { code?: string; error?: string };
    if (response.ok) return parsed;
    throw new FleetError(`${method} ${path} returned ${response.status} ${parsed.code}: ${parsed.error}`);
  }
}
