import { randomUUID } from 'node:crypto';
import { TxtResolver } from '@rmm/outbound';
import { WorkerDatabase } from '@rmm/persistence';
import { HostileProvider } from '@rmm/testing';
import { expectStatus, type IdentityReplica } from '../identity-test-app.js';
import { enrollTotp, registerPartner } from '../users.js';

const USER = 'urn:ietf:params:scim:schemas:core:2.0:User';
const GROUP = 'urn:ietf:params:scim:schemas:core:2.0:Group';
const PATCH = 'urn:ietf:params:scim:api:messages:2.0:PatchOp';

/** Calls the operations of SCIM. */
export async function callScimExamples(identity: IdentityReplica): Promise<void> {
  const provider = await HostileProvider.start();
  try {
    await callWith(identity, provider);
  } finally {
    await provider.stop();
  }
}

async function callWith(identity: IdentityReplica, { issuer }: HostileProvider): Promise<void> {
  const { partnerId, bearer: first } = await registerPartner(identity);
  const by = await enrollTotp(identity, first);
  const orgId = randomUUID();
  await identity.app.get(WorkerDatabase, { strict: false }).query(
    `INSERT INTO organization_directory (org_id, partner_id, name, slug, status, version)
     VALUES (:orgId, :partnerId, 'Customer', :slug, 'active', 1)`,
    { orgId, partnerId, slug: `customer-${orgId}` },
  );
  const permissions = [{ resource: 'devices', action: 'read' }];
  const roleId = expectStatus(await identity.post('/roles', { name: 'Staff', orgId, permissions }, by), 201).body
    .id as string;
  const domain = `${orgId}.test`;
  const claimed = expectStatus(await identity.post('/sso/domains', { orgId, domain }, by), 201).body.data;
  const records = jest.spyOn(identity.app.get(TxtResolver, { strict: false }), 'resolveTxt');
  records.mockResolvedValue([claimed.txtRecordValue as string]);
  expectStatus(await identity.post(`/sso/domains/${claimed.id}/verify`, {}, by), 200);
  records.mockRestore();
  const settings = { orgId, name: 'Okta', issuer, defaultRoleId: roleId };
  const { id } = expectStatus(await identity.post('/sso/providers', settings, by), 201).body.data as { id: string };

  const path = `/sso/providers/${id}/scim`;
  const mappings = { groupsByName: false, roleMappings: [{ group: 'RMM Technicians', roleId }] };
  expectStatus(await identity.call('put', path, mappings, by), 200);
  expectStatus(await identity.get(path, by), 200);
  const created = expectStatus(await identity.post(`${path}/tokens`, { name: 'Okta' }, by), 201).body.data;
  expectStatus(await identity.get(`${path}/tokens`, by), 200);

  const scim = (method: 'get' | 'post' | 'put' | 'patch' | 'delete', to: string, status: number, body?: object) =>
    identity
      .call(method, `/scim/v2${to}`, body, { bearer: created.token as string })
      .then((response) => expectStatus(response, status));
  for (const to of [
    '/ServiceProviderConfig',
    '/ResourceTypes',
    '/ResourceTypes/User',
    '/Schemas',
    `/Schemas/${USER}`,
  ]) {
    await scim('get', to, 200);
  }
  const user = {
    schemas: [USER],
    userName: `ann@${domain}`,
    name: { givenName: 'Ann', familyName: 'Lee' },
    active: true,
  };
  const { body: ann } = await scim('post', '/Users', 201, user);
  const group = { schemas: [GROUP], displayName: 'RMM Technicians', members: [{ value: ann.id as string }] };
  const { body: technicians } = await scim('post', '/Groups', 201, group);
  for (const to of ['/Users', `/Users/${ann.id}`, '/Groups', `/Groups/${technicians.id}`]) await scim('get', to, 200);
  await scim('put', `/Users/${ann.id}`, 200, user);
  await scim('put', `/Groups/${technicians.id}`, 200, group);
  const removal = { op: 'remove', path: `members[value eq "${ann.id}"]` };
  await scim('patch', `/Groups/${technicians.id}`, 204, { schemas: [PATCH], Operations: [removal] });
  const off = { op: 'replace', path: 'active', value: false };
  await scim('patch', `/Users/${ann.id}`, 200, { schemas: [PATCH], Operations: [off] });
  await scim('delete', `/Groups/${technicians.id}`, 204);
  await scim('delete', `/Users/${ann.id}`, 204);
  expectStatus(await identity.delete(`${path}/tokens/${created.id}`, by), 200);
}
