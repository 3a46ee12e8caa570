import { readFileSync } from 'node:fs';
import { expectStatus } from '../../test/identity-test-app.js';
import { ScimTenants, type ScimTenant } from '../../test/scim-test-app.js';
import { SsoTestApp } from '../../test/sso-test-app.js';

interface PatchRequest {
  title: string;
  operations: object[];
}

/** Requests in the shapes that a provider documents, with placeholders for what differs. */
interface ProviderRequests {
  user: object;
  group: object;
  userPut?: object;
  userPatches: (PatchRequest & { expected: Record<string, unknown> })[];
  memberPatches: (PatchRequest & { isMember: boolean })[];
  groupPatch: { operations: object[]; expected: Record<string, unknown> };
}

const readRequests = (name: string): ProviderRequests =>
  JSON.parse(
    readFileSync(new URL(`../../test/scim-requests/${name}.json`, import.meta.url), 'utf8'),
  ) as ProviderRequests;

const filled = <T>(request: T, values: Record<string, string>): T => {
  const text = Object.entries(values).reduce(
    (json, [name, value]) => json.replaceAll(name, value),
    JSON.stringify(request),
  );
  return JSON.parse(text) as T;
};

describe('SCIM requests as documented by', () => {
  let sso: SsoTestApp;
  let tenants: ScimTenants;

  beforeAll(async () => {
    sso = await SsoTestApp.start();
    tenants = new ScimTenants(sso);
  }, 120_000);
  afterAll(() => sso.stop());

  describe.each([
    ['Entra ID', 'entra-id'],
    ['Okta', 'okta'],
  ])('%s', (_, file) => {
    const requests = readRequests(file);
    let tenant: ScimTenant;

    beforeAll(async () => {
      tenant = await tenants.create();
    });

    const create = async () => {
      const body = filled(requests.user, { DOMAIN: tenant.domain });
      return expectStatus(await tenant.client.call('post', '/Users', body), 201).body as {
        id: string;
        userName: string;
      };
    };
    const remove = async (path: string) => expectStatus(await tenant.client.call('delete', path), 204);

    it('find no user before the first one is provisioned', async () => {
      const { body } = expectStatus(await tenant.client.find('Users', 'userName eq "nobody@example.com"'), 200);
      expect(body).toEqual({
        schemas: ['urn:ietf:params:scim:api:messages:2.0:ListResponse'],
        totalResults: 0,
        startIndex: 1,
        itemsPerPage: 0,
        Resources: [],
      });
    });

    it.each(requests.userPatches)('of a user: $title', async ({ operations, expected }) => {
      const { id } = await create();
      const values = { DOMAIN: tenant.domain, '"ID"': `"${id}"` };
      const patched = expectStatus(await tenant.client.patch(`/Users/${id}`, ...filled(operations, values)), 200);
      for (const [name, value] of Object.entries(filled(expected, values))) {
        expect({ [name]: patched.body[name] ?? null }).toEqual({ [name]: value });
      }
      const stored = expectStatus(await tenant.client.get(`/Users/${id}`), 200);
      expect(stored.body).toEqual(patched.body);
      await remove(`/Users/${id}`);
    });

    it('of a user: replaces it as a whole', async () => {
      const { id, userName } = await create();
      const body = filled(requests.userPut ?? { ...requests.user, displayName: 'Replaced' }, {
        DOMAIN: tenant.domain,
        '"ID"': `"${id}"`,
      });
      const replaced = expectStatus(await tenant.client.call('put', `/Users/${id}`, body), 200);
      expect(replaced.body).toMatchObject({ id, userName, active: true });
      await remove(`/Users/${id}`);
    });

    it('of a group: changes its members and its name', async () => {
      const { id: user } = await create();
      const { id } = expectStatus(await tenant.client.call('post', '/Groups', requests.group), 201).body as {
        id: string;
      };
      for (const { title, operations, isMember } of requests.memberPatches) {
        expectStatus(
          await tenant.client.patch(`/Groups/${id}`, ...filled(operations, { USER: user, DOMAIN: tenant.domain })),
          204,
        );
        const { body } = expectStatus(await tenant.client.get(`/Groups/${id}`), 200);
        const members = (body.members as { value: string }[]).map(({ value }) => value);
        expect({ title, members }).toEqual({ title, members: isMember ? [user] : [] });
      }
      const { operations, expected } = filled(requests.groupPatch, { '"ID"': `"${id}"` });
      expectStatus(await tenant.client.patch(`/Groups/${id}`, ...operations), 204);
      const { body } = expectStatus(await tenant.client.get(`/Groups/${id}?excludedAttributes=members`), 200);
      expect(body).toMatchObject(expected);
      expect(body).not.toHaveProperty('members');
      await remove(`/Groups/${id}`);
      await remove(`/Users/${user}`);
    });
  });
});
