import { randomUUID } from 'node:crypto';
import {
  ApiClient,
  buildEnrollment,
  connectToFleet,
  createOrganization,
  eventually,
  partnerWithMfa,
  untilStatus,
} from '@rmm/testing';
import { schemaMismatches, type Schemas } from '@rmm/testing/openapi';
import { createPartnerKey } from '../credentials/machines.js';
import { enrollmentKey, must } from '../steps.js';
import { publishRecords } from './publish-records.js';

const SCOPES = {
  organizations: 'organizations:read',
  sites: 'sites:read',
  devices: 'devices:read',
  'device-inventory': 'inventory:read',
  'device-software': 'inventory:read',
  'device-relationships': 'inventory:read',
  'configuration-policies': 'configuration:read',
  'configuration-assignments': 'configuration:read',
  automations: 'configuration:read',
  scripts: 'scripts:read',
  'backup-configurations': 'backup-configuration:read',
  'custom-fields': 'custom-fields:read',
  'custom-field-values': 'custom-fields:read',
};
const RESOURCES = Object.keys(SCOPES);
const WITH_SITES = ['devices', 'device-inventory', 'device-software', 'device-relationships'];

/** Records of services outside this repository, by resource. */
const PUBLISHED: Record<string, object> = {
  'configuration-policies': {
    name: 'Patches',
    status: 'active',
    features: [{ id: 'f', type: 'patching', settings: {} }],
  },
  'configuration-assignments': { policyId: 'p', level: 'organization' },
  automations: { name: 'Clean up', enabled: true, trigger: { cron: '0 3 * * *' } },
  'backup-configurations': { kind: 'destination', name: 'Cloud', type: 'file', provider: 's3' },
};

describe('the partner interface', () => {
  const fleet = connectToFleet();

  async function principalKey(client: ApiClient, scopes?: string[]): Promise<ApiClient> {
    const { key } = await createPartnerKey(client, { scopes });
    const machine = new ApiClient(fleet.baseUrl, { apiKey: key });
    await untilStatus(() => machine.get('/partner-api/organizations'), scopes ? 403 : 200);
    return machine;
  }

  async function readAll(machine: ApiClient, path: string): Promise<Record<string, unknown>[]> {
    const records: Record<string, unknown>[] = [];
    for (let cursor: string | null = ''; cursor !== null;) {
      const joint = path.includes('?') ? '&' : '?';
      const page = must(
        await machine.get(`/partner-api/${path}${joint}limit=2${cursor && `&cursor=${encodeURIComponent(cursor)}`}`),
        200,
      );
      records.push(...(page.data as Record<string, unknown>[]));
      cursor = page.nextCursor as string | null;
    }
    return records;
  }

  it('exports all thirteen resources of the partner as the OpenAPI document describes them, and nothing of another', async () => {
    const { client, partnerId } = await partnerWithMfa(fleet);
    const theirs = await principalKey((await partnerWithMfa(fleet)).client);
    const { orgId, siteId } = await createOrganization(client);
    const machine = await principalKey(client);
    for (const resource of RESOURCES) {
      if (resource === 'organizations' || resource === 'sites') continue;
      expect(must(await machine.get(`/partner-api/${resource}`), 200)).toMatchObject({ data: [], hasMore: false });
    }

    const key = await enrollmentKey(client, orgId, { siteId });
    const enrolled = must(await new ApiClient(fleet.baseUrl).post('/agents/enroll', buildEnrollment(key)), 201);
    const { agentId, deviceId, authToken } = enrolled as Record<string, string>;
    const agent = new ApiClient(fleet.baseUrl).as({ bearer: authToken });
    const network = { adapters: [{ interfaceName: 'eth0', ipAddress: '10.0.0.2', isPrimary: true }] };
    must(await agent.put(`/agents/${agentId}/network`, network), 200);
    must(await agent.put(`/agents/${agentId}/software`, { software: [{ name: 'Editor', version: '1.2' }] }), 200);
    const definition = { ownerScope: 'partner', fieldKey: 'assetTag', name: 'Asset tag', type: 'text' };
    must(await client.post('/devices/custom-field-definitions', definition), 201);
    must(await client.patch(`/devices/${deviceId}/custom-fields`, { assetTag: 'A-7' }), 200);
    const script = { name: 'Disk space', osTypes: ['linux'], language: 'bash', content: 'df -h' };
    must(await client.post('/scripts', { ...script, availability: 'partner' }), 201);
    const common = { schemaVersion: 1, partnerId, updatedAt: new Date().toISOString() };
    await publishRecords(
      fleet,
      Object.entries(PUBLISHED).map(([resource, record]) => ({
        ...{ ...common, messageId: randomUUID(), id: randomUUID(), orgId, resource, record },
      })),
    );

    const { body: document } = await untilDocument();
    for (const resource of RESOURCES) {
      const records = await eventually(async () => {
        const found = await readAll(machine, `${resource}?orgId=${orgId}`);
        if (found.length === 0) throw new Error(`nothing of ${resource} yet`);
        return found;
      });
      expect(new Set(records.map(({ orgId: of }) => of))).toEqual(new Set([orgId]));
      const page = must(await machine.get(`/partner-api/${resource}`), 200);
      const operation = document.paths[`/api/v1/partner-api/${resource}`].get;
      const { schema } = operation.responses['200'].content['application/json'];
      expect([resource, schemaMismatches(schema, page, document.components.schemas as Schemas)]).toEqual([
        resource,
        [],
      ]);
      const foreign = await readAll(theirs, resource);
      expect(JSON.stringify(foreign)).not.toContain(orgId);
      const denied = await theirs.get(`/partner-api/${resource}?orgId=${orgId}`);
      expect([denied.status, denied.body.code]).toEqual([403, 'organization_access_denied']);
    }
    const [device] = await readAll(machine, `devices?siteId=${siteId}`);
    expect(device).toMatchObject({ id: deviceId, siteId, stableIdentifiers: { assetTag: 'A-7' } });
    const [inventory] = await readAll(machine, 'device-inventory');
    expect(inventory).toMatchObject({ deviceId, siteId, addresses: [{ address: '10.0.0.2', interfaceName: 'eth0' }] });
    const [value] = await readAll(machine, 'custom-field-values');
    expect(value).toMatchObject({
      deviceId,
      fieldKey: 'assetTag',
      value: 'A-7',
      target: { type: 'device', id: deviceId },
    });
    const scripts = await readAll(machine, 'scripts');
    expect(scripts.length).toBeGreaterThanOrEqual(2); // one for each organization of the partner
    expect(new Set(scripts.map(({ id }) => id)).size).toBe(1);
    expect(await readAll(theirs, `devices?siteId=${siteId}`)).toEqual([]);
  });

  it('shows what changed since the snapshot of an earlier export', async () => {
    const { client, partnerId } = await partnerWithMfa(fleet);
    const { orgId } = await createOrganization(client);
    const machine = await principalKey(client);
    const message = {
      ...{ schemaVersion: 1, messageId: randomUUID(), resource: 'automations', id: randomUUID(), partnerId, orgId },
      ...{ updatedAt: new Date().toISOString(), record: PUBLISHED['automations'] },
    };
    await publishRecords(fleet, [message]);
    await eventually(async () => expect(await readAll(machine, 'automations')).toHaveLength(1));
    const { snapshotAt } = must(await machine.get('/partner-api/automations'), 200);
    const since = `automations?updatedSince=${encodeURIComponent(snapshotAt as string)}`;
    expect(await readAll(machine, since)).toEqual([]);
    const updatedAt = new Date(Date.now() + 1_000).toISOString();
    await publishRecords(fleet, [
      { ...message, messageId: randomUUID(), updatedAt: message.updatedAt, record: { name: 'Older', enabled: true } },
      { ...message, messageId: randomUUID(), updatedAt, record: { name: 'Newer', enabled: false } },
    ]);
    await eventually(async () => {
      expect(await readAll(machine, since)).toMatchObject([
        { id: message.id, name: 'Newer', sourceUpdatedAt: updatedAt },
      ]);
    });
  });

  it('refuses a missing scope, and siteId where records have no site', async () => {
    const { client } = await partnerWithMfa(fleet);
    const machine = await principalKey(client);
    const without = await principalKey(client, ['sites:read']);
    for (const [resource, scope] of Object.entries(SCOPES)) {
      const site = await machine.get(`/partner-api/${resource}?siteId=${randomUUID()}`);
      if (WITH_SITES.includes(resource)) expect(must(site, 200).data).toEqual([]);
      else expect([resource, site.status, site.body.code]).toEqual([resource, 400, 'invalid_partner_export_query']);
      const malformed = await machine.get(`/partner-api/${resource}?siteId=x`);
      expect([malformed.status, malformed.body.code]).toEqual([400, 'invalid_partner_export_query']);
      if (scope === 'sites:read') continue;
      const refused = await without.get(`/partner-api/${resource}`);
      expect([refused.status, refused.body.code, refused.body.required]).toEqual([
        403,
        'partner_api_scope_required',
        [scope],
      ]);
    }
  });

  /** The merged document, once it has the document of every service. */
  const untilDocument = () => untilStatus(() => new ApiClient(fleet.baseUrl).get('//openapi.json'), 200);
});
