import {
  ApiClient,
  buildEnrollment,
  createOrganization,
  type FleetHandle,
  inviteAndAccept,
  partnerWithMfa,
  signInAdmin,
  untilStatus,
} from '@rmm/testing';
import { createPartnerKey } from '../credentials/machines.js';
import { createWebhook, enrollmentKey, must } from '../steps.js';
import type { Operation } from './operations.js';
import type { Random } from './random.js';
import type { RawClient } from './raw-client.js';
import type { KnownIds } from './valid-values.js';

type CallerName =
  'system' | 'partner' | 'organization' | 'api-key' | 'partner-key' | 'agent' | 'scim' | 'none' | 'invalid';

export interface FuzzCaller {
  name: CallerName;
  headers: Record<string, string>;
}

/** Callers of a route by the kind of its access, as often as they are named. */
const CALLERS: Record<string, readonly CallerName[]> = {
  permission: ['partner', 'partner', 'partner', 'system', 'organization', 'api-key', 'none', 'invalid'],
  'signed-in': ['partner', 'partner', 'system', 'system', 'organization', 'api-key', 'none', 'invalid'],
  'api-key': ['api-key', 'api-key', 'api-key', 'partner', 'system', 'partner-key', 'none', 'invalid'],
  'partner-key': ['partner-key', 'partner-key', 'partner-key', 'partner-key', 'api-key', 'partner', 'none', 'invalid'],
  'agent-token': ['agent', 'agent', 'agent', 'agent', 'partner', 'none', 'invalid'],
  'scim-token': ['scim', 'scim', 'scim', 'scim', 'partner', 'none', 'invalid'],
  public: ['none', 'none', 'none', 'partner', 'api-key', 'invalid'],
};

/** Collections whose first records the callers need: these are only read. */
const USED_BY_CALLERS = new Set(['users', 'api-keys', 'partner-service-principals', 'keys', 'organizations']);

/** Every scope of the partner interface. */
const READ = ['organizations', 'sites', 'devices', 'inventory', 'configuration', 'scripts', 'backup-configuration'];
const SCOPES = [
  ...READ.map((resource) => `${resource}:read`),
  'custom-fields:read',
  ...['organizations', 'sites', 'enrollment-keys'].map((resource) => `${resource}:write`),
];

/** Ids that a run keeps for each collection: the newest ones. */
const MAX_CREATED = 30;

/** A partner with everything that routes need, its callers, and the records that the run creates. */
export class FuzzTenant {
  private readonly created = new Map<string, string[]>();

  private constructor(
    private readonly callers: Record<CallerName, Record<string, string>>,
    private readonly seeds: KnownIds,
    private readonly collections: KnownIds,
  ) {}

  static async create(fleet: FleetHandle): Promise<FuzzTenant> {
    const { client, partnerId, userId } = await partnerWithMfa(fleet);
    const { orgId, siteId } = await createOrganization(client);
    const organizationRole = await roleOf(client, `?orgId=${orgId}`);
    const partnerRole = await roleOf(client, '');
    const member = await inviteAndAccept(fleet, client, { orgId, roleId: organizationRole });
    const colleague = await inviteAndAccept(fleet, client, { roleId: partnerRole, orgAccess: 'all' });
    const apiKey = await untilStatus(() => client.post('/api-keys', apiKeyBody(orgId)), 201);
    const enrollment = await enrollmentKey(client, orgId, { maxUsage: 100_000 });
    const agent = new ApiClient(fleet.baseUrl);
    const enrolled = must(await agent.post('/agents/enroll', buildEnrollment(enrollment)), 201);
    const webhook = await createWebhook(client, orgId, { url: 'http://127.0.0.1:9/hooks' });
    const partnerKey = await createPartnerKey(client, { scopes: SCOPES });
    const service = must(
      await client.post('/service-principals', { orgId, name: 'Fuzz', scopes: ['devices:read'] }),
      201,
    );
    const role = must(await client.post('/roles', { name: `Fuzz ${Math.random()}` }), 201);
    // Without a discovery: no provider of a test is asked.
    const provider = must(await client.post('/sso/providers', { orgId, name: 'Fuzz', type: 'saml' }), 201);
    const tokens = `/sso/providers/${provider.data.id}/scim/tokens`;
    const scimToken = must(await client.post(tokens, { name: 'Fuzz' }), 201).data.token as string;
    const keyRecords = must(await client.get('/enrollment-keys'), 200);
    const system = await signInAdmin(fleet);
    return new FuzzTenant(
      {
        system: bearerOf(system),
        partner: bearerOf(client),
        organization: bearerOf(member.client),
        'api-key': { 'x-api-key': apiKey.body.key as string },
        'partner-key': { 'x-api-key': partnerKey.key },
        scim: { authorization: `Bearer ${scimToken}` },
        agent: { authorization: `Bearer ${enrolled.authToken as string}` },
        none: {},
        invalid: { authorization: 'Bearer eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJ4In0.AAAA' },
      },
      {
        orgId: [orgId],
        siteId: [siteId],
        partnerId: [partnerId],
        roleId: [role.id as string, partnerRole, organizationRole],
        parentRoleId: [role.id as string],
        userId: [userId, member.userId],
        actorId: [userId],
        deviceId: [enrolled.deviceId as string],
        agentId: [enrolled.agentId as string],
        webhookId: [webhook.id],
        apiKeyId: [apiKey.body.id as string],
        enrollmentKey: [enrollment],
        email: [member.email],
      },
      {
        users: [member.userId, colleague.userId],
        roles: [role.id as string],
        'api-keys': [apiKey.body.id as string],
        'enrollment-keys': (keyRecords.data as { id: string }[]).map(({ id }) => id),
        'service-principals': [service.id as string],
        'partner-service-principals': [partnerKey.principalId],
        keys: [partnerKey.keyId],
        organizations: [orgId],
        sites: [siteId],
        partners: [partnerId],
        devices: [enrolled.deviceId as string],
        agents: [enrolled.agentId as string],
        webhooks: [webhook.id],
      },
    );
  }

  callerFor({ access }: Operation, random: Random): FuzzCaller {
    const name = random.pick(CALLERS[access.kind] ?? ['none']);
    return { name, headers: this.callers[name] };
  }

  get knownIds(): KnownIds {
    return this.seeds;
  }

  /** Returns ids for the parameters of the path; only records of the run for methods that end a record. */
  pathIds({ method, path }: Operation): KnownIds {
    const ids: Record<string, string[]> = {};
    const segments = path.split('/');
    segments.forEach((segment, index) => {
      const name = /^\{(\w+)\}$/.exec(segment)?.[1];
      if (!name) return;
      const collection = segments[index - 1] ?? '';
      const isKept = method !== 'GET' && USED_BY_CALLERS.has(collection);
      const seeds = isKept || method === 'DELETE' ? [] : (this.collections[collection] ?? []);
      const created = this.created.get(collection) ?? [];
      ids[name] = [...seeds, ...(collection === 'agents' || collection === 'partners' ? [] : created)];
    });
    return ids;
  }

  /** Remembers the record of a 201 response for later requests. */
  remember({ path }: Operation, body: unknown): void {
    const collection =
      path
        .split('/')
        .filter((segment) => !segment.startsWith('{'))
        .pop() ?? '';
    const record = (body ?? {}) as { id?: unknown; keyId?: unknown; deviceId?: unknown; data?: { id?: unknown } };
    const id = record.id ?? record.data?.id ?? record.keyId ?? record.deviceId;
    if (typeof id !== 'string') return;
    const name = { enroll: 'devices', invite: 'users', clone: 'roles' }[collection] ?? collection;
    this.created.set(name, [...(this.created.get(name) ?? []), id].slice(-MAX_CREATED));
  }

  /** Returns true while the callers can do what their routes need: some requests end sessions or suspend tenants. */
  async isUsable(client: RawClient): Promise<boolean> {
    const statusOf = async (method: string, path: string, caller: CallerName) => {
      const request = { method, target: `/api/v1${path}`, headers: JSON_BODY, mutation: '' };
      return (await client.send(method === 'GET' ? request : { ...request, body: '{}' }, this.callers[caller])).status;
    };
    const statuses = await Promise.all([
      statusOf('POST', '/api-keys/00000000-0000-4000-8000-000000000000/rotate', 'partner'),
      statusOf('GET', '/orgs/sites', 'organization'),
      statusOf('GET', '/users/me', 'system'),
    ]);
    return statuses.join() === '404,200,200';
  }
}

const JSON_BODY = { 'content-type': 'application/json' };

const apiKeyBody = (orgId: string) => ({
  orgId,
  name: 'Fuzz',
  scopes: ['devices:read', 'devices:write', 'ai:read', 'devices:execute'],
  rateLimit: 100_000,
});

/** Reads the token of a client from the header that it sends. */
function bearerOf(client: ApiClient): Record<string, string> {
  const { bearer } = client.credentials;
  return { authorization: `Bearer ${bearer}` };
}

async function roleOf(client: ApiClient, query: string): Promise<string> {
  const { data } = must(await client.get(`/roles${query}`), 200) as { data: { id: string; name: string }[] };
  return (data.find(({ name }) => /admin/i.test(name)) ?? data[0])?.id ?? '';
}
