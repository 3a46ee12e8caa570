import { randomUUID } from 'node:crypto';
import { CREDENTIALS_KEYS_RESOLVE } from '@rmm/contracts';
import { CredentialsTestApp } from '../../test/credentials-test-app.js';
import { issueKey, buildPrincipal, racing, type Client, type IssuedKey } from '../../test/partner-principals.js';

const PATH = '/partner-service-principals';
const LATER = '2999-01-01T00:00:00.000Z';

describe('update of a partner principal', () => {
  let service: CredentialsTestApp;
  let partnerId: string;
  let owner: Client;
  /** Manages principals, and holds of what they may have scopes for sites alone. */
  let locker: Client;

  beforeAll(async () => {
    service = await CredentialsTestApp.start();
    ({ partnerId, owner } = await service.createTenant());
    locker = await service.as({
      partnerId,
      permissions: ['organizations:read', 'organizations:write', 'sites:read', 'sites:write'],
    });
  }, 120_000);
  afterAll(() => service.stop());

  const patch = (client: Client, id: string, body: object) => client.patch(`${PATH}/${id}`, body);
  const statusOf = async ({ keyHash }: IssuedKey) =>
    (await service.request(CREDENTIALS_KEYS_RESOLVE, { keyHash }))?.status;
  const expectDenied = async (response: Promise<{ status: number; body: { code: string } }>) => {
    const { status, body } = await response;
    expect([status, body.code]).toEqual([403, 'permission_not_delegable']);
  };

  it('changes the given fields and records the previous values', async () => {
    const before = await buildPrincipal(owner, { description: 'Old', scopes: ['sites:read'], expiresAt: LATER });
    const name = `Renamed ${randomUUID()}`;
    const { status, body } = await patch(owner, before.id, { name, sourceCidrs: ['10.0.0.0/8'] });
    expect(status).toBe(200);
    expect(body).toEqual({
      data: { ...before, name, sourceCidrs: ['10.0.0.0/8'], updatedAt: expect.any(String) },
    });
    expect(body.data.updatedAt > before.updatedAt).toBe(true);
    expect((await owner.get(`${PATH}/${before.id}`)).body).toEqual(body);
    expect((await service.findAuditEntry('partner_service_principal.update', before.id)).details).toEqual({
      changes: { name: { from: before.name, to: name }, sourceCidrs: { from: [], to: ['10.0.0.0/8'] } },
    });
  });

  it('clears description, expiry and addresses', async () => {
    const given = { description: 'Old', expiresAt: LATER, sourceCidrs: ['10.0.0.0/8'] };
    const { id } = await buildPrincipal(owner, given);
    const { body } = await patch(owner, id, { description: null, expiresAt: null, sourceCidrs: [] });
    expect(body.data).toMatchObject({ description: null, expiresAt: null, sourceCidrs: [] });
  });

  it.each([
    ['nothing', {}, 'body'],
    ['name null', { name: null }, 'name'],
    ['status null', { status: null }, 'status'],
    ['another status', { status: 'expired' }, 'status'],
    ['scopes null', { scopes: null }, 'scopes'],
    ['no scope', { scopes: [] }, 'scopes'],
    ['an unknown scope', { scopes: ['sites:read', 'sites:delete'] }, 'scopes'],
    ['addresses null', { sourceCidrs: null }, 'sourceCidrs'],
    ['a bad address', { sourceCidrs: ['nowhere'] }, 'sourceCidrs.0'],
    ['a time without offset', { expiresAt: '2999-01-01T00:00:00' }, 'expiresAt'],
    ['another partner', { partnerId: randomUUID() }, 'partnerId'],
  ])('refuses %s', async (_, body, field) => {
    const { id } = await buildPrincipal(owner);
    const response = await patch(owner, id, body);
    expect([response.status, response.body.code]).toEqual([400, 'validation_failed']);
    expect(Object.keys(response.body.details.fieldErrors)).toEqual([field]);
  });

  it('refuses an expiry in the past and a name that is taken', async () => {
    const [one, other] = [await buildPrincipal(owner), await buildPrincipal(owner)];
    const past = await patch(owner, one.id, { expiresAt: '2020-01-01T00:00:00Z' });
    expect([past.status, past.body.code]).toEqual([400, 'invalid_expiry']);
    const taken = await patch(owner, one.id, { name: other.name.toUpperCase() });
    expect([taken.status, taken.body.code]).toEqual([409, 'conflict']);
    expect((await patch(owner, one.id, { name: one.name.toUpperCase() })).status).toBe(200);
  });

  it('accepts one of two concurrent changes to the same name', async () => {
    const [one, other] = [await buildPrincipal(owner), await buildPrincipal(owner)];
    const name = randomUUID();
    const responses = await Promise.all([patch(owner, one.id, { name }), patch(owner, other.id, { name })]);
    expect(responses.map(({ status }) => status).sort()).toEqual([200, 409]);
  });

  it('requires the permissions of added scopes only', async () => {
    const { id } = await buildPrincipal(owner, { scopes: ['devices:read', 'sites:read'] });
    await expectDenied(patch(locker, id, { scopes: ['devices:read', 'inventory:read'] }));
    const scopes = ['devices:read', 'sites:write'];
    const kept = await patch(locker, id, { scopes, description: 'Still reads devices' });
    expect([kept.status, kept.body.data.scopes]).toEqual([200, scopes]);
    expect((await patch(locker, id, { scopes: ['sites:write'] })).status).toBe(200);
    await expectDenied(patch(locker, id, { scopes }));
  });

  it('requires the permissions of every scope when keys work again or longer', async () => {
    const wide = await buildPrincipal(owner, { scopes: ['devices:read'], expiresAt: LATER });
    await expectDenied(patch(locker, wide.id, { expiresAt: null }));
    expect((await patch(locker, wide.id, { expiresAt: '2998-01-01T00:00:00Z' })).status).toBe(200);
    await expectDenied(patch(locker, wide.id, { expiresAt: LATER }));
    expect((await patch(locker, wide.id, { status: 'disabled' })).status).toBe(200);
    await expectDenied(patch(locker, wide.id, { status: 'active' }));
    await expectDenied(patch(locker, wide.id, { status: 'active', scopes: ['devices:read', 'sites:read'] }));
    expect((await patch(locker, wide.id, { status: 'active', scopes: ['sites:read'] })).status).toBe(200);

    const restricted = await buildPrincipal(owner, { scopes: ['sites:read'], expiresAt: LATER });
    for (const body of [{ status: 'disabled' }, { status: 'active', expiresAt: null }]) {
      expect((await patch(locker, restricted.id, body)).status).toBe(200);
    }
  });

  it('requires the permissions of every scope when keys work from more addresses', async () => {
    const { id } = await buildPrincipal(owner, { scopes: ['devices:read'], sourceCidrs: ['10.0.0.0/8'] });
    await expectDenied(patch(locker, id, { sourceCidrs: [] }));
    await expectDenied(patch(locker, id, { sourceCidrs: ['10.0.0.0/8', '192.0.2.0/24'] }));
    expect((await patch(owner, id, { sourceCidrs: [] })).status).toBe(200);
    expect((await patch(locker, id, { sourceCidrs: ['10.0.0.0/8'] })).status).toBe(200);
  });

  it('requires the permissions of every scope for a new expiry of an expired principal', async () => {
    const { id } = await buildPrincipal(owner, { scopes: ['devices:read'], expiresAt: LATER });
    await service.admin.query(`UPDATE partner_principal SET expires_at = now() - interval '1 hour' WHERE id = $1`, [
      id,
    ]);
    await expectDenied(patch(locker, id, { expiresAt: LATER }));
    expect((await patch(owner, id, { expiresAt: LATER })).status).toBe(200);
  });

  it('is published once for all keys that are not revoked', async () => {
    const { id } = await buildPrincipal(owner);
    const [first, second, third] = [await issueKey(owner, id), await issueKey(owner, id), await issueKey(owner, id)];
    await owner.delete(`${PATH}/${id}/keys/${third.keyId}`);
    await patch(owner, id, { scopes: ['sites:read'] });
    expect(await service.findBroadcast(first.keyId, 'updated')).toEqual({
      kind: 'partner_key',
      keyIds: [first.keyId, second.keyId],
      keyHashes: [first.keyHash, second.keyHash],
      reason: 'updated',
    });
    await patch(owner, id, { status: 'disabled' });
    expect(await service.findBroadcast(second.keyId, 'principal_disabled')).toMatchObject({
      keyIds: [first.keyId, second.keyId],
    });
    const said = service.broadcasts.filter(({ keyIds }) => keyIds.includes(first.keyId)).map(({ reason }) => reason);
    expect(said).toEqual(['created', 'updated', 'principal_disabled']);
  });

  it('disables a key that is issued at the same time', async () => {
    const { id } = await buildPrincipal(owner);
    const [issued, disabled] = await racing(service, id, [
      owner.post(`${PATH}/${id}/keys`, { name: 'Late' }),
      patch(owner, id, { status: 'disabled' }),
    ]);
    expect(disabled.status).toBe(200);
    if (issued.status === 201) await service.findBroadcast(issued.body.keyId, 'principal_disabled');
    else expect([issued.status, issued.body.code]).toEqual([409, 'disabled']);
  });

  it('disables every key and enables those that were not revoked again', async () => {
    const { id } = await buildPrincipal(owner);
    const [kept, revoked] = [await issueKey(owner, id), await issueKey(owner, id)];
    await owner.delete(`${PATH}/${id}/keys/${revoked.keyId}`);
    await patch(owner, id, { status: 'disabled' });
    expect(await Promise.all([statusOf(kept), statusOf(revoked)])).toEqual(['disabled', 'revoked']);
    const { body } = await patch(owner, id, { status: 'active' });
    expect(body.data.keys.map(({ status }: { status: string }) => status)).toEqual(['active', 'revoked']);
    expect(await Promise.all([statusOf(kept), statusOf(revoked)])).toEqual(['active', 'revoked']);
  });

  it('requires write permission in the same partner', async () => {
    const { id } = await buildPrincipal(owner);
    const refusals = [
      [await service.as({ partnerId, permissions: ['organizations:read'] }), '403 permission_denied'],
      [await service.as({ partnerId, mfa: false }), '403 mfa_required'],
      [await service.as({ partnerId, orgAccess: 'selected' }), '403 full_partner_access_required'],
      [
        await service.as({ scope: 'organization', partnerId, orgId: await service.createOrganization(partnerId) }),
        '403 scope_not_allowed',
      ],
      [await service.as({ partnerId: await service.createPartner() }), '404 not_found'],
    ] as const;
    for (const [client, refusal] of refusals) {
      const { status, body } = await patch(client, id, { description: 'Mine' });
      expect(`${status} ${body.code}`).toBe(refusal);
    }
    expect((await patch(owner, randomUUID(), { description: 'x' })).status).toBe(404);
    const platform = await service.as({ scope: 'system' });
    expect((await patch(platform, id, { description: 'By the platform' })).status).toBe(200);
  });
});
