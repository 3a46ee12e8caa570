import { randomUUID } from 'node:crypto';
import { eventually } from '@rmm/testing-services';
import { buildCustomer, type Client, type Customer } from '../../test/build-customer.js';
import { CredentialsTestApp } from '../../test/credentials-test-app.js';

const PATH = '/enrollment-keys';

describe('enrollment keys of an organization with sites', () => {
  let service: CredentialsTestApp;
  let ours: Customer;
  let restricted: Client;
  beforeAll(async () => {
    service = await CredentialsTestApp.start();
    ours = await buildCustomer(service);
    restricted = await ours.member({ siteIds: [ours.siteIds[0]] });
  });
  afterAll(() => service?.stop());

  const create = async (siteId?: string, customer = ours): Promise<string> =>
    (await customer.owner.post(PATH, { orgId: customer.orgId, name: 'k', siteId })).body.id;
  const expire = (ids: string[]) =>
    service.admin.query(`update enrollment_key set expires_at = now() - interval '1 second' where id = any($1)`, [ids]);
  const remaining = async (ids: string[]) => {
    const { rows } = await service.admin.query('select id from enrollment_key where id = any($1)', [ids]);
    return new Set(rows.map(({ id }) => id));
  };
  const purge = (client: Client, body: object | string = {}) => client.post(`${PATH}/purge-expired`, body);

  it('deletes the keys of a deleted site alone, with an audit entry', async () => {
    const own = await buildCustomer(service);
    const [siteId, other] = own.siteIds;
    const [pinned, elsewhere, free] = [
      await create(siteId, own),
      await create(other, own),
      await create(undefined, own),
    ];
    await service.deleteSite({ ...own, siteId });
    expect(await remaining([pinned, elsewhere, free])).toEqual(new Set([elsewhere, free]));
    const entry = await service.findAuditEntry('enrollment_key.delete', pinned);
    expect(entry).toMatchObject({ details: { reason: 'site_deleted', siteId, usageCount: 0 } });
  });

  it('keeps the keys of a site that another tenant claims to have deleted', async () => {
    const [own, other] = [await buildCustomer(service), await buildCustomer(service)];
    const [siteId] = own.siteIds;
    const id = await create(siteId, own);
    await service.deleteSite({ siteId, orgId: other.orgId, partnerId: other.partnerId });
    expect(await remaining([id])).toEqual(new Set([id]));
  });

  describe('for a member restricted to one site', () => {
    it('allows to create, read, rotate and delete keys of that site', async () => {
      const own = await restricted.post(PATH, { name: 'Mine', siteId: ours.siteIds[0] });
      expect(own.status).toBe(201);
      const { id } = own.body;
      expect((await restricted.get(`${PATH}/${id}`)).status).toBe(200);
      expect((await restricted.post(`${PATH}/${id}/rotate`)).status).toBe(200);
      expect((await restricted.delete(`${PATH}/${id}`)).status).toBe(200);
    });

    it('hides keys of other sites and of no site', async () => {
      const [own, other, none] = [await create(ours.siteIds[0]), await create(ours.siteIds[1]), await create()];
      for (const id of [other, none]) {
        for (const response of [
          await restricted.get(`${PATH}/${id}`),
          await restricted.post(`${PATH}/${id}/rotate`, { maxUsage: null }),
          await restricted.delete(`${PATH}/${id}`),
        ]) {
          expect([response.status, response.body.code]).toEqual([403, 'site_access_denied']);
        }
      }
      expect((await remaining([other, none])).size).toBe(2);
      const { data, pagination } = (await restricted.get(PATH)).body;
      expect([data.map((each: { id: string }) => each.id), pagination.total]).toEqual([[own], 1]);
      expect((await ours.owner.get(`${PATH}?orgId=${ours.orgId}`)).body.pagination.total).toBe(3);
      const nowhere = await ours.member({ siteIds: [] });
      expect((await nowhere.get(PATH)).body.pagination.total).toBe(0);
    });

    it.each([
      ['another site', () => ours.siteIds[1]],
      ['none', () => undefined],
    ])('refuses to create a key for %s', async (_, siteId) => {
      const response = await restricted.post(PATH, { name: 'Not mine', siteId: siteId() });
      expect([response.status, response.body.code]).toEqual([403, 'site_access_denied']);
    });

    it('hides every key from a member restricted to device groups', async () => {
      const grouped = await ours.member({ deviceGroupIds: [randomUUID()] });
      const id = await create(ours.siteIds[0]);
      expect((await grouped.get(PATH)).body.data).toEqual([]);
      for (const response of [
        await grouped.get(`${PATH}/${id}`),
        await grouped.post(`${PATH}/${id}/rotate`),
        await grouped.delete(`${PATH}/${id}`),
        await grouped.post(PATH, { siteId: ours.siteIds[0], name: 'k' }),
      ]) {
        expect([response.status, response.body.code]).toEqual([403, 'site_access_denied']);
      }
      expect((await purge(grouped)).body.deletedCount).toBe(0);
    });

    it('purges within that site', async () => {
      const [own, other, none] = [await create(ours.siteIds[0]), await create(ours.siteIds[1]), await create()];
      await expire([own, other, none]);
      expect((await purge(restricted)).body).toEqual({ success: true, deletedCount: 1 });
      expect(await remaining([own, other, none])).toEqual(new Set([other, none]));
    });
  });

  describe('purge of expired keys', () => {
    it('deletes expired keys only, of this organization only', async () => {
      const [customer, neighbor] = [await buildCustomer(service), await buildCustomer(service)];
      const ids = [
        await create(undefined, customer),
        await create(undefined, customer),
        await create(undefined, customer),
      ];
      const foreign = await create(undefined, neighbor);
      await expire([...ids.slice(0, 2), foreign]);
      const response = await purge(customer.owner, { orgId: customer.orgId });
      expect([response.status, response.body]).toEqual([200, { success: true, deletedCount: 2 }]);
      expect(await remaining([...ids, foreign])).toEqual(new Set([ids[2], foreign]));
      expect((await purge(customer.owner, { orgId: customer.orgId })).body.deletedCount).toBe(0);
      await eventually(() => {
        const rows = service.received.filter(
          ({ type, orgId }) => type === 'enrollment_key.purge_expired' && orgId === customer.orgId,
        );
        const details = rows.map(({ data }) => (data as { details: { deletedIds: string[] } }).details);
        expect(details).toEqual([
          { deletedCount: 2, deletedIds: expect.arrayContaining(ids.slice(0, 2)) },
          { deletedCount: 0, deletedIds: [] },
        ]);
      });
    });

    it('purges the organization of its member, with or without a body', async () => {
      const member = await ours.member();
      for (const body of ['', {}, { orgId: ours.orgId }]) {
        await expire([await create()]);
        expect((await purge(member, body)).body.deletedCount).toBeGreaterThanOrEqual(1);
      }
    });

    it.each([
      ['no organization', {}, 'orgId'],
      ['one that is no id', { orgId: 'all' }, 'orgId'],
      ['an unknown field', { orgId: randomUUID(), olderThanDays: 3 }, 'olderThanDays'],
    ])('refuses to purge with %s', async (_, body, path) => {
      const response = await purge(ours.owner, body);
      expect([response.status, response.body.code]).toEqual([400, 'validation_failed']);
      expect(Object.keys(response.body.details.fieldErrors)).toEqual([path]);
    });

    it('counts each key once in concurrent purges', async () => {
      const customer = await buildCustomer(service);
      await expire(await Promise.all(Array.from({ length: 6 }, () => create(undefined, customer))));
      const responses = await Promise.all(
        Array.from({ length: 4 }, () => purge(customer.owner, { orgId: customer.orgId })),
      );
      expect(responses.reduce((sum, { body }) => sum + body.deletedCount, 0)).toBe(6);
    });
  });
});
