import { randomUUID } from 'node:crypto';
import { insertDevice } from '../../../../test/device-rows.js';
import { ProvisioningTestApp } from '../../../../test/provisioning-test-app.js';
import { MAX_DEFINITIONS } from './custom-field-definitions.service.js';

type Client = Awaited<ReturnType<ProvisioningTestApp['clientFor']>>;
const ROUTE = '/devices/custom-field-definitions';

describe(ROUTE, () => {
  let testApp: ProvisioningTestApp;
  let partnerId: string;
  let orgIds: string[];
  let client: Client;

  beforeAll(async () => {
    testApp = await ProvisioningTestApp.start();
  });
  afterAll(() => testApp?.stop());
  beforeEach(async () => {
    partnerId = await testApp.createPartner();
    client = await testApp.clientFor({ partnerId });
    orgIds = [];
    for (const name of ['A', 'B']) orgIds.push((await client.post('/orgs/organizations', { name })).body.id);
  });

  const bodyOf = (more: object = {}) => ({
    ownerScope: 'organization',
    orgId: orgIds[0],
    fieldKey: 'rack',
    name: 'Rack',
    type: 'text',
    ...more,
  });
  const ofPartner = { ownerScope: 'partner', orgId: undefined };
  const create = async (more: object = {}) => (await client.post(ROUTE, bodyOf(more))).body;
  const device = (orgId = orgIds[0], values: object = {}) =>
    insertDevice(testApp.admin, { partner_id: partnerId, org_id: orgId, ...values });
  const patch = async (id: string, body: object, as = client) => {
    const response = await as.patch(`/devices/${id}/custom-fields`, body);
    return response.body.details?.fieldErrors ?? response.body.customFields;
  };
  const errorsOf = async (more: object) => {
    const { status, body } = await client.post(ROUTE, bodyOf(more));
    return [status, ...Object.keys(body.details?.fieldErrors ?? {})];
  };

  it('creates, lists, changes and deletes a definition', async () => {
    const options = ['bronze', 'gold'];
    const created = await create({ fieldKey: 'tier', type: 'dropdown', options, required: true, defaultValue: 'gold' });
    expect(created).toEqual({
      id: expect.any(String),
      orgId: orgIds[0],
      ownerScope: 'organization',
      fieldKey: 'tier',
      name: 'Rack',
      type: 'dropdown',
      options,
      required: true,
      defaultValue: 'gold',
      deviceTypes: [],
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
    });
    expect((await client.get(`${ROUTE}?orgId=${orgIds[0]}&type=dropdown`)).body.data).toEqual([created]);
    expect((await client.get(`${ROUTE}?type=date`)).body.data).toEqual([]);
    const changed = await client.patch(`${ROUTE}/${created.id}`, { name: 'Tier', defaultValue: null });
    expect(changed.body).toMatchObject({ name: 'Tier', defaultValue: null, required: true, fieldKey: 'tier' });
    expect((await client.get(`${ROUTE}/${created.id}`)).body).toEqual(changed.body);
    const entry = await testApp.waitForMessage(
      'custom_field_definition.update',
      ({ aggregateId }) => aggregateId === created.id,
    );
    expect(entry.data).toMatchObject({ details: { fieldKey: 'tier', fields: ['name', 'defaultValue'] } });
    expect((await client.delete(`${ROUTE}/${created.id}`)).body).toEqual({ success: true });
    expect((await client.get(`${ROUTE}/${created.id}`)).status).toBe(404);
  });

  it('validates the values that are written, and no others', async () => {
    await create({ fieldKey: 'slots', type: 'number' });
    await create({ fieldKey: 'bought', type: 'date', deviceTypes: ['linux'] });
    const [own, windows, other] = [
      await device(),
      await device(orgIds[0], { os_type: 'windows' }),
      await device(orgIds[1]),
    ];
    expect(await patch(own, { slots: '4', bought: '2026-02-30', free: 'x' })).toEqual({
      slots: ['must be a number'],
      bought: ['must be a date, YYYY-MM-DD'],
    });
    expect(await patch(own, { slots: 4, bought: '2026-02-28', free: 'x' })).toEqual({
      slots: 4,
      bought: '2026-02-28',
      free: 'x',
    });
    expect(await patch(windows, { bought: '2026-02-28' })).toEqual({ bought: ['is not a field of windows devices'] });
    expect(await patch(other, { slots: 'any', bought: 'any' })).toEqual({ slots: 'any', bought: 'any' });
    const { rows } = await testApp.admin.query('SELECT custom_fields FROM device WHERE id = $1', [windows]);
    expect(rows[0].custom_fields).toEqual({});
  });

  it('refuses the removal of a required field', async () => {
    const { id: definitionId } = await create({ required: true });
    const id = await device(orgIds[0], { custom_fields: { rack: 'A1' } });
    expect(await patch(id, { rack: null })).toEqual({ rack: ['is required'] });
    await client.patch(`${ROUTE}/${definitionId}`, { required: false });
    expect(await patch(id, { rack: null })).toEqual({});
  });

  it('shows defaults wherever the fields of a device are shown, and stores none', async () => {
    await create({ ...ofPartner, fieldKey: 'tier', defaultValue: 'silver' });
    await create({ fieldKey: 'tier', defaultValue: 'gold' });
    await create({ fieldKey: 'slots', type: 'number', defaultValue: 2, deviceTypes: ['windows'] });
    const [own, other] = [await device(), await device(orgIds[1])];
    expect((await client.get(`/devices/${own}/custom-fields`)).body).toEqual({ customFields: { tier: 'gold' } });
    expect((await client.get(`/devices/${own}`)).body.customFields).toEqual({ tier: 'gold' });
    expect((await client.get(`/devices/${other}`)).body.customFields).toEqual({ tier: 'silver' });
    const listed = (await client.get(`/devices?orgId=${orgIds[0]}&include=customFields`)).body.data;
    expect(listed.map((row: { customFields: object }) => row.customFields)).toEqual([{ tier: 'gold' }]);
    expect(await patch(own, { tier: 'bronze' })).toEqual({ tier: 'bronze' });
    expect(await patch(own, { tier: null })).toEqual({ tier: 'gold' });
    const { rows } = await testApp.admin.query('SELECT custom_fields FROM device WHERE id = $1', [own]);
    expect(rows[0].custom_fields).toEqual({});
  });

  it('validates values that API keys write', async () => {
    await create({ ...ofPartner, type: 'boolean' });
    const key = testApp.credentials.mintApiKey({ orgId: orgIds[0], partnerId, scopes: ['devices:write'] });
    const path = `/devices/${await device()}/custom-fields`;
    expect((await testApp.withKey(key, 'patch', path).send({ rack: 'yes' })).status).toBe(400);
    expect((await testApp.withKey(key, 'patch', path).send({ rack: true })).body.customFields).toEqual({ rack: true });
  });

  it('defines a key once for each owner, also under parallel requests', async () => {
    const all = await Promise.all(Array.from({ length: 6 }, () => client.post(ROUTE, bodyOf())));
    expect(all.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409, 409, 409]);
    expect(all.find(({ status }) => status === 409)?.body.code).toBe('custom_field_key_conflict');
    expect((await create({ orgId: orgIds[1] })).fieldKey).toBe('rack');
    expect((await create(ofPartner)).orgId).toBeNull();
    expect((await client.post(ROUTE, bodyOf(ofPartner))).status).toBe(409);
  });

  it('limits the definitions of an owner', async () => {
    await testApp.admin.query(
      `INSERT INTO custom_field_definition (partner_id, org_id, field_key, name, name_key, type)
       SELECT $1, $2, 'key ' || n, 'N', 'n', 'text' FROM generate_series(1, $3) n`,
      [partnerId, orgIds[0], MAX_DEFINITIONS],
    );
    expect((await create()).code).toBe('custom_field_limit_reached');
    expect((await create({ orgId: orgIds[1] })).fieldKey).toBe('rack');
  });

  it.each([
    [{ type: 'dropdown' }, ['options']],
    [{ options: ['a'] }, ['options']],
    [{ type: 'number', defaultValue: 'x' }, ['defaultValue']],
    [{ type: 'dropdown', options: ['a'], defaultValue: 'b' }, ['defaultValue']],
    [{ fieldKey: '__proto__' }, ['fieldKey']],
    [{ fieldKey: 'a\nb' }, ['fieldKey']],
    [{ type: 'list', deviceTypes: ['amiga'] }, ['type', 'deviceTypes.0']],
    [{ name: undefined, fieldKey: undefined }, ['fieldKey', 'name']],
    [{ partnerId: randomUUID() }, ['partnerId']],
    [{ defaultValue: 'x'.repeat(1_001) }, ['defaultValue']],
  ])('returns 400 for %o', async (more, fields) => {
    const [status, ...named] = await errorsOf(more);
    expect([status, named.sort()]).toEqual([400, fields.sort()]);
  });

  it('refuses changes of key and type', async () => {
    const { id } = await create();
    for (const change of [{ fieldKey: 'x' }, { type: 'number' }, {}]) {
      expect((await client.patch(`${ROUTE}/${id}`, change)).status).toBe(400);
    }
  });

  it('is closed to other tenants, without the permission and to restricted members', async () => {
    const { id } = await create();
    const partnerWide = await create({ ...ofPartner, fieldKey: 'wide' });
    const stranger = await testApp.clientFor({ partnerId: await testApp.createPartner() });
    expect((await stranger.post(ROUTE, bodyOf())).body.code).toBe('organization_access_denied');
    for (const unknown of [id, randomUUID(), 'x']) {
      expect((await stranger.get(`${ROUTE}/${unknown}`)).status).toBe(404);
      expect((await stranger.delete(`${ROUTE}/${unknown}`)).status).toBe(404);
    }
    const writer = await testApp.clientFor({ partnerId, permissions: ['devices:write', 'devices:read'] });
    expect((await writer.post(ROUTE, bodyOf())).body.required).toEqual(['organizations:write']);
    const member = { scope: 'organization', partnerId, orgId: orgIds[0] } as const;
    const own = await testApp.clientFor(member);
    expect((await own.get(ROUTE)).body.data).toHaveLength(2);
    expect((await own.delete(`${ROUTE}/${partnerWide.id}`)).body.code).toBe('scope_not_allowed');
    expect((await own.post(ROUTE, bodyOf({ ...ofPartner }))).body.code).toBe('scope_not_allowed');
    expect((await own.patch(`${ROUTE}/${id}`, { name: 'N' })).status).toBe(200);
    for (const restriction of [{ siteIds: [] }, { deviceGroupIds: [] }]) {
      const restricted = await testApp.clientFor({ ...member, ...restriction });
      expect((await restricted.patch(`${ROUTE}/${id}`, { name: 'N' })).body.code).toBe('site_access_denied');
    }
    const selected = await testApp.clientFor({ partnerId, orgAccess: 'selected', orgIds: [orgIds[0]] });
    expect((await selected.delete(`${ROUTE}/${partnerWide.id}`)).body.code).toBe('full_partner_access_required');
  });
});
