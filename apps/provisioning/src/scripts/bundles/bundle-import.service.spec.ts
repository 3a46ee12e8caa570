import { createHash, randomUUID } from 'node:crypto';
import type { FakeUser } from '@rmm/testing/fake-identity';
import { eventually } from '@rmm/testing-services';
import { ProvisioningTestApp } from '../../../test/provisioning-test-app.js';

const script = (name: string, changes: object = {}) => ({
  name,
  osTypes: ['linux'],
  language: 'bash',
  content: `echo ${name}`,
  ...changes,
});
const bundleOf = (...scripts: unknown[]) => ({ bundleVersion: 1, scripts });

describe('/scripts/bundle', () => {
  let testApp: ProvisioningTestApp;
  beforeAll(async () => {
    testApp = await ProvisioningTestApp.start();
  });
  afterAll(() => testApp?.stop());

  const freshPartner = async (user: FakeUser = {}) => {
    const partnerId = await testApp.createPartner();
    const client = await testApp.clientFor({ partnerId, ...user });
    const orgId = (await client.post('/orgs/organizations', { name: `Org ${randomUUID()}` }).expect(201)).body
      .id as string;
    return { partnerId, client, orgId };
  };
  type Client = Awaited<ReturnType<typeof freshPartner>>['client'];
  const importInto = async (client: Client, body: object) =>
    (await client.post('/scripts/bundle/import', body).expect(200)).body;
  const refusal = async (request: PromiseLike<{ status: number; body: { code: string } }>) => {
    const { status, body } = await request;
    return [status, body.code];
  };

  it('previews without a write, and imports what the preview says', async () => {
    const { client, orgId, partnerId } = await freshPartner();
    await client.post('/scripts', { ...script('Wide'), availability: 'partner' }).expect(201);
    const own = (await client.post('/scripts', { ...script('Own'), orgId }).expect(201)).body;
    const bundle = bundleOf(
      script('New', { isSystem: true }),
      script('OWN'),
      script('Wide'),
      script(''),
      script('new'),
    );
    const preview = (await client.post('/scripts/bundle/preview', { bundle, orgId }).expect(200)).body;
    expect(preview).toEqual({
      target: { orgId, partnerId, availability: 'org' },
      entries: [
        { index: 0, name: 'New', status: 'new' },
        {
          index: 1,
          name: 'OWN',
          status: 'name-conflict',
          conflictKind: 'same-owner',
          existingScriptId: own.id,
          existingVersion: 1,
        },
        {
          index: 2,
          name: 'Wide',
          status: 'name-conflict',
          conflictKind: 'partner-wide',
          existingScriptId: expect.any(String),
          existingVersion: 1,
        },
        { index: 3, name: null, status: 'invalid', error: expect.stringMatching(/^name: /) },
        { index: 4, name: 'new', status: 'name-conflict', conflictKind: 'in-bundle' },
      ],
      warnings: [{ code: 'unknown-column', column: 'isSystem', rows: [0] }],
    });
    expect((await client.get('/scripts')).body.pagination.total).toBe(2);
    const result = await importInto(client, { bundle, orgId });
    expect(result).toEqual({
      imported: 1,
      skipped: 2,
      renamed: 0,
      versioned: 0,
      errors: [
        { index: 2, name: 'Wide', error: 'A script of all organizations has this name' },
        { index: 3, name: null, error: expect.stringMatching(/^name: /) },
      ],
      scripts: [
        { index: 0, name: 'New', action: 'imported', scriptId: expect.any(String) },
        { index: 1, name: 'OWN', action: 'skipped', scriptId: own.id },
        { index: 4, name: 'new', action: 'skipped', scriptId: expect.any(String) },
      ],
      warnings: preview.warnings,
    });
    const created = (await client.get(`/scripts/${result.scripts[0].scriptId}`)).body;
    expect(created).toMatchObject({ orgId, partnerId, isSystem: false, content: 'echo New', timeoutSeconds: 300 });
  });

  it('renames, and makes new versions of scripts that differ', async () => {
    const { client, orgId } = await freshPartner();
    const bundle = bundleOf(script('A', { tags: ['Daily'], description: 'First' }), script('B'));
    await importInto(client, { bundle, orgId });
    const renamed = await importInto(client, { bundle, orgId, mode: 'rename' });
    expect(renamed).toMatchObject({
      imported: 0,
      renamed: 2,
      scripts: [{ finalName: 'A (2)' }, { finalName: 'B (2)' }],
    });
    expect((await importInto(client, { bundle, orgId, mode: 'rename' })).scripts[0].finalName).toBe('A (3)');
    expect(await importInto(client, { bundle, orgId, mode: 'new-version' })).toMatchObject({
      skipped: 2,
      versioned: 0,
    });
    const changed = bundleOf(script('a', { content: 'echo 2', tags: ['DAILY', 'x'] }), script('B'));
    const versioned = await importInto(client, { bundle: changed, orgId, mode: 'new-version' });
    expect(versioned).toMatchObject({ skipped: 1, versioned: 1 });
    const id = versioned.scripts[0].scriptId;
    expect((await client.get(`/scripts/${id}`)).body).toMatchObject({
      name: 'A',
      version: 2,
      content: 'echo 2',
      description: 'First',
      tags: ['Daily', 'x'],
    });
    expect((await client.get(`/scripts/${id}/versions/1`)).body).toMatchObject({ content: 'echo A', tags: ['Daily'] });
  });

  it('audits each script with the SHA-256 of the bundle', async () => {
    const { client, orgId } = await freshPartner();
    const bundle = bundleOf(script('A'), script('B'), script(''));
    const { scripts } = await importInto(client, { bundle, orgId });
    const bundleSha256 = createHash('sha256').update(JSON.stringify(bundle)).digest('hex');
    for (const { scriptId, name } of scripts) {
      const isEntry = ({ data }: { data: unknown }) => (data as { resourceId: string }).resourceId === scriptId;
      const entry = await testApp.waitForMessage('script.bundle.import', isEntry);
      expect(entry).toMatchObject({
        orgId,
        data: { resourceName: name, details: { bundleSha256, action: 'imported' } },
      });
      expect(JSON.stringify(entry)).not.toContain('echo');
    }
  });

  it('imports for all organizations with access to all of them only', async () => {
    const { client, orgId, partnerId } = await freshPartner();
    const bundle = bundleOf(script('A'));
    const body = { bundle, availability: 'partner' };
    const selected = await testApp.clientFor({ partnerId, orgAccess: 'selected', orgIds: [orgId] });
    for (const path of ['preview', 'import']) {
      expect(await refusal(selected.post(`/scripts/bundle/${path}`, body))).toEqual([
        403,
        'full_partner_access_required',
      ]);
    }
    const { scripts } = await importInto(client, body);
    expect((await selected.get(`/scripts/${scripts[0].scriptId}`)).body).toMatchObject({ orgId: null, partnerId });
    expect(await importInto(selected, { bundle: bundleOf(script('B')), orgId })).toMatchObject({ imported: 1 });
    const system = await testApp.clientFor({ scope: 'system' });
    expect(await importInto(system, { ...body, partnerId })).toMatchObject({ skipped: 1 });
  });

  it('needs the permission, a second factor, and partner or system scope', async () => {
    const { client, orgId, partnerId } = await freshPartner();
    const theirs = (await freshPartner()).client;
    const body = { bundle: bundleOf(script('A')), orgId };
    const callers: [Client, string][] = [
      [await testApp.clientFor({ scope: 'organization', partnerId, orgId }), 'scope_not_allowed'],
      [await testApp.clientFor({ partnerId, permissions: ['scripts:read'] }), 'permission_denied'],
      [await testApp.clientFor({ partnerId, mfa: false }), 'mfa_required'],
      [theirs, 'organization_access_denied'],
    ];
    for (const [caller, code] of callers) {
      for (const path of ['preview', 'import']) {
        expect(await refusal(caller.post(`/scripts/bundle/${path}`, body))).toEqual([403, code]);
      }
    }
    expect((await client.get('/scripts')).body.data).toEqual([]);
  });

  it.each<[string, unknown, string]>([
    ['another version', { bundleVersion: 2, scripts: [] }, 'unsupported_bundle_version'],
    ['no version', { scripts: [] }, 'unsupported_bundle_version'],
    ['no scripts', { bundleVersion: 1 }, 'validation_failed'],
    ['201 scripts', bundleOf(...Array.from({ length: 201 }, (_, n) => script(`S${n}`))), 'validation_failed'],
    ['a list as bundle', [], 'validation_failed'],
    ['a text as bundle', 'x', 'validation_failed'],
  ])('refuses %s', async (_, bundle, code) => {
    const { client, orgId } = await freshPartner();
    for (const path of ['preview', 'import']) {
      expect(await refusal(client.post(`/scripts/bundle/${path}`, { bundle, orgId }))).toEqual([400, code]);
    }
  });

  it('repeats the response of a request with the same idempotency key, without a second effect', async () => {
    const { client, orgId } = await freshPartner();
    const body = { bundle: bundleOf(script('A')), orgId, mode: 'rename' };
    const send = (given: object) => client.post('/scripts/bundle/import', given).set('Idempotency-Key', 'key-1');
    const first = await send(body).expect(200);
    const second = await send(body).expect(200);
    expect([second.body, second.headers['idempotency-replayed']]).toEqual([first.body, 'true']);
    expect(await refusal(send({ ...body, mode: 'skip' }))).toEqual([409, 'idempotency_key_reused']);
    expect((await client.get('/scripts')).body.pagination.total).toBe(1);
  });

  it('creates each script once when the same bundle is imported twice at a time', async () => {
    const { client, orgId } = await freshPartner();
    const bundle = bundleOf(...Array.from({ length: 50 }, (_, n) => script(`S${n}`)));
    const results = await Promise.all([importInto(client, { bundle, orgId }), importInto(client, { bundle, orgId })]);
    expect(results.map(({ imported }) => imported).sort()).toEqual([0, 50]);
    expect((await client.get('/scripts?limit=1')).body.pagination.total).toBe(50);
  });

  it('accepts a bundle of the largest size, and refuses a larger body', async () => {
    const { client, orgId } = await freshPartner();
    const content = 'x'.repeat(262_144);
    const largest = bundleOf(...Array.from({ length: 75 }, (_, n) => script(`S${n}`, { content })));
    await eventually(async () => {
      expect(await importInto(client, { bundle: largest, orgId })).toMatchObject({ errors: [] });
    });
    const larger = bundleOf(...Array.from({ length: 85 }, (_, n) => script(`S${n}`, { content })));
    expect((await client.post('/scripts/bundle/import', { bundle: larger, orgId })).status).toBe(413);
  });
});
