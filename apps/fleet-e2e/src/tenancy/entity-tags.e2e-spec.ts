import { randomUUID } from 'node:crypto';
import {
  ApiClient,
  connectToFleet,
  createOrganization,
  inviteAndAccept,
  partnerWithMfa,
  signInAdmin,
} from '@rmm/testing';
import { createApiKey, enrollDevice } from '../credentials/machines.js';
import { createWebhook, must } from '../steps.js';

const WRITERS = 20;
const HOOK = { url: 'http://127.0.0.1:9/in' };

/** The first part of a tag, which `If-Match` compares. */
const revisionOf = (tag: string | null | undefined) => tag?.split('.')[0];

/** A record that `If-Match` protects. */
interface TaggedRecord {
  path: string;
  /** Returns a change that differs for each number. */
  change: (n: number) => object;
}

describe('entity tags', () => {
  const fleet = connectToFleet();
  let client: ApiClient;
  let theirs: ApiClient;
  let orgId: string;

  beforeAll(async () => {
    client = (await partnerWithMfa(fleet)).client;
    theirs = (await partnerWithMfa(fleet)).client;
    ({ orgId } = await createOrganization(client));
  });

  const named = (n: number) => ({ name: `Changed ${n}` });
  const post = async (path: string, body: object) =>
    must(await client.post(path, { name: `New ${randomUUID()}`, ...body }), 201).id as string;

  const records: Record<string, () => Promise<TaggedRecord>> = {
    'an organization': async () => ({
      path: `/orgs/organizations/${await post('/orgs/organizations', {})}`,
      change: named,
    }),
    'a site': async () => ({ path: `/orgs/sites/${await post('/orgs/sites', { orgId })}`, change: named }),
    'a device group': async () => ({
      path: `/orgs/device-groups/${await post('/orgs/device-groups', { orgId })}`,
      change: named,
    }),
    'a device': async () => ({
      path: `/devices/${await enrollDevice(fleet, client, orgId)}`,
      change: (n) => ({ displayName: `Changed ${n}` }),
    }),
    'a script': async () => ({
      path: `/scripts/${await post('/scripts', { orgId, osTypes: ['linux'], language: 'bash', content: 'df' })}`,
      change: named,
    }),
    'an API key': async () => ({ path: `/api-keys/${(await createApiKey(client, orgId)).id}`, change: named }),
    'a webhook': async () => ({ path: `/webhooks/${(await createWebhook(client, orgId, HOOK)).id}`, change: named }),
    'a webhook of a partner': async () => ({
      path: `/partner-webhooks/${await post('/partner-webhooks', { ...HOOK, events: ['device.enrolled'] })}`,
      change: named,
    }),
    'a role': async () => ({ path: `/roles/${await post('/roles', { permissions: [] })}`, change: named }),
  };

  const tagOf = async (path: string, by = client) => {
    const response = await by.get(path);
    must(response, 200);
    return response.headers.get('etag') ?? '';
  };
  const ifMatch = (tag: string) => ({ headers: { 'if-match': tag } });
  const outcome = ({ status, body }: { status: number; body: { code?: string } }) => [status, body.code];

  describe.each(Object.entries(records))('of %s', (_, create) => {
    let record: TaggedRecord;
    const patch = (tag: string, n = 0, by = client) => by.send('PATCH', record.path, record.change(n), ifMatch(tag));

    beforeAll(async () => {
      // Each record has an address of its own, so that the global limit does not end the spec.
      client = new ApiClient(client.baseUrl, client.credentials);
      theirs = new ApiClient(theirs.baseUrl, theirs.credentials);
      record = await create();
    });

    it('spare a client that polls the record its body', async () => {
      const tag = await tagOf(record.path);
      const again = await client.send('GET', record.path, undefined, { headers: { 'if-none-match': `"x", ${tag}` } });
      expect([again.status, again.body, again.headers.get('etag')]).toEqual([304, '', tag]);
    });

    it(`let one of ${WRITERS} changes at once through, and refuse the others`, async () => {
      const tag = await tagOf(record.path);
      const responses = await Promise.all(Array.from({ length: WRITERS }, (_, n) => patch(tag, n)));
      const refused = responses.filter(({ status }) => status !== 200);
      expect(refused.map(outcome)).toEqual(Array.from({ length: WRITERS - 1 }, () => [412, 'precondition_failed']));
      const accepted = responses.find(({ status }) => status === 200);
      // GET of a webhook has its statistics as well, which are not part of the revision.
      expect(revisionOf(await tagOf(record.path))).toBe(revisionOf(accepted?.headers.get('etag')));
    });

    it('refuse outdated tags, weak tags and those of other records, and change nothing', async () => {
      const before = await client.get(record.path);
      const tag = before.headers.get('etag') ?? '';
      const another = await tagOf((await create()).path);
      for (const wrong of ['"x.y"', `W/${tag}`, another, `"x.y", ${another}`]) {
        expect(outcome(await patch(wrong, WRITERS))).toEqual([412, 'precondition_failed']);
        expect(outcome(await client.send('DELETE', record.path, undefined, ifMatch(wrong)))).toEqual([
          412,
          'precondition_failed',
        ]);
      }
      expect((await client.get(record.path)).body).toEqual(before.body);
      for (const malformed of ['x', '"x', '*, "x"']) {
        expect(outcome(await patch(malformed))).toEqual([400, 'invalid_if_match']);
      }
    });

    it('are no source of information for another tenant', async () => {
      const tag = await tagOf(record.path);
      for (const given of [tag, '"x.y"', '*']) {
        expect(outcome(await patch(given, 0, theirs))).toEqual([404, 'not_found']);
        expect(outcome(await theirs.send('DELETE', record.path, undefined, ifMatch(given)))).toEqual([
          404,
          'not_found',
        ]);
      }
    });

    it('are compared in a list, match as *, and are ignored when absent', async () => {
      must(await patch(`"x.y" , ${await tagOf(record.path)}`, WRITERS + 1), 200);
      must(await patch('*', WRITERS + 2), 200);
      must(await client.patch(record.path, record.change(WRITERS + 3)), 200);
    });

    it('protect the record from a deletion', async () => {
      const outdated = await tagOf(record.path);
      must(await client.patch(record.path, record.change(WRITERS + 4)), 200);
      const refused = await client.send('DELETE', record.path, undefined, ifMatch(outdated));
      expect(outcome(refused)).toEqual([412, 'precondition_failed']);
      must(await client.send('DELETE', record.path, undefined, ifMatch(await tagOf(record.path))), 200);
    });
  });

  it('are compared after the permissions of the caller', async () => {
    client = new ApiClient(client.baseUrl, client.credentials);
    const roles = must(await client.get(`/users/roles?orgId=${orgId}`), 200).data as { id: string; name: string }[];
    const roleId = roles.find(({ name }) => name === 'Org Viewer')?.id;
    const viewer = (await inviteAndAccept(fleet, client, { orgId, roleId })).client;
    const path = `/orgs/sites/${await post('/orgs/sites', { orgId })}`;
    expect(outcome(await viewer.send('PATCH', path, named(1), ifMatch('"x.y"')))).toEqual([403, 'permission_denied']);
  });

  it('protect the access of a member', async () => {
    const roles = must(await client.get('/users/roles'), 200).data as { id: string; name: string }[];
    const roleId = roles.find(({ name }) => name === 'Partner Viewer')?.id;
    const { userId } = await inviteAndAccept(fleet, client, { roleId, orgAccess: 'all' });
    const tag = await tagOf(`/users/${userId}`);
    const restrict = () => client.send('PATCH', `/users/${userId}/membership`, { orgAccess: 'none' }, ifMatch(tag));
    must(await restrict(), 200);
    expect(outcome(await restrict())).toEqual([412, 'precondition_failed']);
    const removed = await client.send('DELETE', `/users/${userId}`, undefined, ifMatch(tag));
    expect(outcome(removed)).toEqual([412, 'precondition_failed']);
  });

  it('protect a user from changes of platform administrators at once', async () => {
    const roles = must(await client.get(`/users/roles?orgId=${orgId}`), 200).data as { id: string; name: string }[];
    const roleId = roles.find(({ name }) => name === 'Org Viewer')?.id;
    const { userId } = await inviteAndAccept(fleet, client, { orgId, roleId });
    const admin = await signInAdmin(fleet);
    const tag = await tagOf(`/users/${userId}?orgId=${orgId}`, admin);
    const patch = (given: string, n: number) => admin.send('PATCH', `/users/${userId}`, named(n), ifMatch(given));
    const responses = await Promise.all(Array.from({ length: 5 }, (_, n) => patch(tag, n)));
    expect(responses.map(({ status }) => status).sort()).toEqual([200, 412, 412, 412, 412]);
    const accepted = responses.find(({ status }) => status === 200);
    must(await patch(accepted?.headers.get('etag') ?? '', 5), 200);
    expect(outcome(await patch(tag, 6))).toEqual([412, 'precondition_failed']);
    expect(outcome(await client.send('PATCH', `/users/${userId}`, named(7), ifMatch('*')))).toEqual([
      403,
      'scope_not_allowed',
    ]);
  });
});
