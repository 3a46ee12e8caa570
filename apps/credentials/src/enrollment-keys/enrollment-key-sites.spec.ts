import { randomUUID } from 'node:crypto';
import { eventually } from '@rmm/testing-services';
import { buildCustomer, type Client, type Customer } from '../../test/build-customer.js';
import { CredentialsTestApp } from '../../test/credentials-test-app.js';

const PATH = '/enrollment-keys';

describe('enrollment keys of an organization with sites', () => {
  let service: CredentialsTestApp;
  let ours: Customer;
  let confined: Client;
  beforeAll(async () => {
    service = await CredentialsTestApp.start();
    ours = await buildCustomer(service);
    confined = await ours.member({ siteIds: [ours.siteIds[0]] });
  }, 60_000);
  afterAll(() => service?.stop());

  const make = async (siteId?: string, customer = ours): Promise<string> =>
    (await customer.owner.post(PATH, { orgId: customer.orgId, name: 'k', siteId })).body.id;
  const expire = (ids: string[]) =>
    service.admin.query(`update enrollment_key set expires_at = now() - interval '1 second' where id = any($1)`, [ids]);
  const remaining = async (ids: string[]) => {
    const { rows } = await service.admin.query('select id from enrollment_key where id = any($1)', [ids]);
    return new Set(rows.map(({ id }) => id));
  };
  const purge = (client: Client, body: object | string = {}) => client.post(`${PATH}/purge-expired`, body);

  describe('for a member confined to one of them', () => {
    it('are those of that site, made, read, rotated and deleted', async () => {
      const own = await confined.post(PATH, { name: 'Mine', siteId: ours.siteIds[0] });
      expect(own.status).toBe(201);
      const { id } = own.body;
      expect((await confined.get(`${PATH}/${id}`)).status).toBe(200);
      expect((await confined.post(`${PATH}/${id}/rotate`)).status).toBe(200);
      expect((await confined.delete(`${PATH}/${id}`)).status).toBe(200);
    });

    it('of other sites and of none are out of reach, and not in lists', async () => {
      const [own, other, none] = [await make(ours.siteIds[0]), await make(ours.siteIds[1]), await make()];
      for (const id of [other, none]) {
        for (const answer of [
          await confined.get(`${PATH}/${id}`),
          await confined.post(`${PATH}/${id}/rotate`, { maxUsage: null }),
          await confined.delete(`${PATH}/${id}`),
        ]) {
          expect([answer.status, answer.body.code]).toEqual([403, 'site_access_denied']);
        }
      }
      expect((await remaining([other, none])).size).toBe(2);
      const { data, pagination } = (await confined.get(PATH)).body;
      expect([data.map((each: { id: string }) => each.id), pagination.total]).toEqual([[own], 1]);
      expect((await ours.owner.get(`${PATH}?orgId=${ours.orgId}`)).body.pagination.total).toBe(3);
      const nowhere = await ours.member({ siteIds: [] });
      expect((await nowhere.get(PATH)).body.pagination.total).toBe(0);
    });

    it.each([
      ['another site', () => ours.siteIds[1]],
      ['none', () => undefined],
    ])('are not made for %s', async (_, siteId) => {
      const answer = await confined.post(PATH, { name: 'Not mine', siteId: siteId() });
      expect([answer.status, answer.body.code]).toEqual([403, 'site_access_denied']);
    });

    it('are purged within that site', async () => {
      const [own, other, none] = [await make(ours.siteIds[0]), await make(ours.siteIds[1]), await make()];
      await expire([own, other, none]);
      expect((await purge(confined)).body).toEqual({ success: true, deletedCount: 1 });
      expect(await remaining([own, other, none])).toEqual(new Set([other, none]));
    });
  });

  describe('that expired', () => {
    it('are purged, live ones and those of others stay', async () => {
      const [customer, neighbor] = [await buildCustomer(service), await buildCustomer(service)];
      const ids = [await make(undefined, customer), await make(undefined, customer), await make(undefined, customer)];
      const foreign = await make(undefined, neighbor);
      await expire([...ids.slice(0, 2), foreign]);
      const answer = await purge(customer.owner, { orgId: customer.orgId });
      expect([answer.status, answer.body]).toEqual([200, { success: true, deletedCount: 2 }]);
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

    it('are those of the own organization for a member, with or without a body', async () => {
      const member = await ours.member();
      for (const body of ['', {}, { orgId: ours.orgId }]) {
        await expire([await make()]);
        expect((await purge(member, body)).body.deletedCount).toBeGreaterThanOrEqual(1);
      }
    });

    it.each([
      ['no organization', {}, 'orgId'],
      ['one that is no id', { orgId: 'all' }, 'orgId'],
      ['an unknown field', { orgId: randomUUID(), olderThanDays: 3 }, 'olderThanDays'],
    ])('are not purged with %s', async (_, body, path) => {
      const answer = await purge(ours.owner, body);
      expect([answer.status, answer.body.code]).toEqual([400, 'validation_failed']);
      expect(Object.keys(answer.body.details.fieldErrors)).toEqual([path]);
    });

    it('are counted once when several purge at a time', async () => {
      const customer = await buildCustomer(service);
      await expire(await Promise.all(Array.from({ length: 6 }, () => make(undefined, customer))));
      const answers = await Promise.all(
        Array.from({ length: 4 }, () => purge(customer.owner, { orgId: customer.orgId })),
      );
      expect(answers.reduce((sum, { body }) => sum + body.deletedCount, 0)).toBe(6);
    });
  });
});
