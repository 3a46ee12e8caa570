import { randomUUID } from 'node:crypto';
import { CREDENTIALS_KEYS_RESOLVE } from '@rmm/contracts';
import type { Permission } from '@rmm/permissions';
import { CredentialsTestApp } from '../../test/credentials-test-app.js';
import {
  issueKey,
  buildPrincipal,
  racing,
  withHash,
  type Client,
  type IssuedKey,
} from '../../test/partner-principals.js';

const PATH = '/partner-service-principals';
const LATER = '2999-01-01T00:00:00.000Z';
const PAST = '2020-01-01T00:00:00.000Z';

describe('PartnerKeysService', () => {
  let service: CredentialsTestApp;
  let partnerId: string;
  let owner: Client;

  beforeAll(async () => {
    service = await CredentialsTestApp.start();
    ({ partnerId, owner } = await service.createTenant());
  }, 120_000);
  afterAll(() => service.stop());

  const keysPath = (id: string, keyId = '') => `${PATH}/${id}/keys${keyId && `/${keyId}`}`;
  const rotate = (client: Client, id: string, keyId: string, body: object | string = {}) =>
    client.post(`${keysPath(id, keyId)}/rotate`, body);
  const statusOf = async ({ keyHash }: IssuedKey) =>
    (await service.request(CREDENTIALS_KEYS_RESOLVE, { keyHash }))?.status;
  const keysOf = async (id: string) =>
    (await owner.get(`${PATH}/${id}`)).body.data.keys as Record<string, string | number | null>[];
  const outcome = ({ status, body }: { status: number; body: { code?: string } }) =>
    `${status} ${body.code ?? ''}`.trim();
  const age = (id: string, table: 'partner_principal' | 'partner_principal_key') =>
    service.admin.query(`UPDATE ${table} SET expires_at = now() - interval '1 hour' WHERE id = $1`, [id]);

  it('issues a key, shows it once and publishes it', async () => {
    const { id } = await buildPrincipal(owner, { expiresAt: LATER });
    const response = await owner.post(keysPath(id), {
      name: 'Nightly',
      rateLimit: 1200,
      expiresAt: '2999-06-01T00:00:00Z',
    });
    expect(response.status).toBe(201);
    expect(response.headers['cache-control']).toBe('no-store');
    const { keyId, key, keyPrefix } = response.body as IssuedKey;
    expect(key).toMatch(/^svc_sp_[\w-]{43}$/);
    expect(keyPrefix).toBe(key.slice(0, 18));
    expect(await keysOf(id)).toEqual([
      {
        id: keyId,
        partnerServicePrincipalId: id,
        name: 'Nightly',
        keyPrefix,
        status: 'active',
        expiresAt: '2999-06-01T00:00:00.000Z',
        rateLimit: 1200,
        lastUsedAt: null,
        revokedAt: null,
        rotatedFromId: null,
        createdAt: expect.any(String),
      },
    ]);
    await service.findBroadcast(keyId, 'created');
    expect(await service.findAuditEntry('partner_service_principal_key.issue', id)).toMatchObject({
      details: { keyId, keyPrefix },
    });
  });

  it.each([
    ['no name', { name: undefined }],
    ['a rate limit of 0', { rateLimit: 0 }],
    ['a negative rate limit', { rateLimit: -1 }],
    ['a rate limit over 10,000', { rateLimit: 10_001 }],
    ['a rate limit in words', { rateLimit: '600' }],
    ['scopes of its own', { scopes: ['sites:read'] }],
  ])('refuses %s when issuing and rotating', async (_, body) => {
    const { id } = await buildPrincipal(owner);
    const { keyId } = await issueKey(owner, id);
    expect(outcome(await owner.post(keysPath(id), { name: 'Key', ...body }))).toBe('400 validation_failed');
    if ('name' in body) return;
    expect(outcome(await rotate(owner, id, keyId, body))).toBe('400 validation_failed');
  });

  it('rotates a key and keeps the values that are not given', async () => {
    const { id } = await buildPrincipal(owner);
    const old = await issueKey(owner, id, { name: 'Nightly', rateLimit: 900, expiresAt: LATER });
    const response = await rotate(owner, id, old.keyId, '');
    expect([response.status, response.headers['cache-control']]).toEqual([200, 'no-store']);
    const fresh = withHash(response.body);
    expect(response.body).toEqual({ keyId: expect.any(String), key: fresh.key, keyPrefix: fresh.key.slice(0, 18) });
    expect(fresh.key).not.toBe(old.key);
    expect(await keysOf(id)).toMatchObject([
      { id: old.keyId, status: 'revoked', revokedAt: expect.any(String), rotatedFromId: null },
      {
        id: fresh.keyId,
        status: 'active',
        name: 'Nightly',
        rateLimit: 900,
        expiresAt: LATER,
        rotatedFromId: old.keyId,
      },
    ]);
    expect(await Promise.all([statusOf(old), statusOf(fresh)])).toEqual(['revoked', 'active']);
    expect(await service.findBroadcast(old.keyId, 'rotated')).toMatchObject({ keyHashes: [old.keyHash] });
    expect(await service.findBroadcast(fresh.keyId, 'created')).toMatchObject({ keyHashes: [fresh.keyHash] });
    expect((await service.findAuditEntry('partner_service_principal_key.rotate', id)).details).toMatchObject({
      keyId: fresh.keyId,
      rotatedFromId: old.keyId,
    });
  });

  it('takes a new name, expiry and rate limit when rotating, null for no expiry', async () => {
    const { id } = await buildPrincipal(owner);
    const { keyId } = await issueKey(owner, id, { expiresAt: LATER });
    const { body } = await rotate(owner, id, keyId, { name: 'Second', rateLimit: 1, expiresAt: null });
    expect((await keysOf(id)).find((key) => key.id === body.keyId)).toMatchObject({
      name: 'Second',
      rateLimit: 1,
      expiresAt: null,
    });
  });

  it('leaves one working key after twenty concurrent rotations', async () => {
    const { id } = await buildPrincipal(owner);
    const { keyId } = await issueKey(owner, id);
    const responses = await Promise.all(Array.from({ length: 20 }, () => rotate(owner, id, keyId)));
    expect(responses.map(outcome).sort()).toEqual(['200', ...Array<string>(19).fill('409 revoked')]);
    expect((await keysOf(id)).filter(({ status }) => status === 'active')).toHaveLength(1);
  });

  it('leaves one working key after rotations that wait for the same rows', async () => {
    const { id } = await buildPrincipal(owner);
    const { keyId } = await issueKey(owner, id);
    const rotations = Array.from({ length: 4 }, () => rotate(owner, id, keyId));
    const responses = await racing(service, id, rotations);
    expect(responses.map(outcome).sort()).toEqual(['200', ...Array<string>(3).fill('409 revoked')]);
    expect((await keysOf(id)).filter(({ status }) => status === 'active')).toHaveLength(1);
  });

  it('never keeps the old key when rotation and revocation race', async () => {
    const { id } = await buildPrincipal(owner);
    const old = await issueKey(owner, id);
    const calls = [rotate(owner, id, old.keyId), owner.delete(keysPath(id, old.keyId))];
    const [rotated, removed] = await racing(service, id, calls);
    expect(removed.body).toEqual({ success: true, alreadyRevoked: rotated.status === 200 });
    expect(await statusOf(old)).toBe('revoked');
  });

  it('refuses a disabled or expired principal', async () => {
    const [disabled, expired] = [await buildPrincipal(owner), await buildPrincipal(owner, { expiresAt: LATER })];
    const [one, two] = [await issueKey(owner, disabled.id), await issueKey(owner, expired.id)];
    await owner.patch(`${PATH}/${disabled.id}`, { status: 'disabled' });
    await age(expired.id, 'partner_principal');
    for (const [{ id }, { keyId }, refusal] of [
      [disabled, one, '409 disabled'],
      [expired, two, '409 expired'],
    ] as const) {
      expect(outcome(await owner.post(keysPath(id), { name: 'Key' }))).toBe(refusal);
      expect(outcome(await rotate(owner, id, keyId))).toBe(refusal);
      expect((await keysOf(id)).map(({ status }) => status)).toEqual(['active']);
    }
  });

  it('refuses to rotate a revoked or expired key', async () => {
    const { id } = await buildPrincipal(owner);
    const [revoked, expired] = [await issueKey(owner, id), await issueKey(owner, id, { expiresAt: LATER })];
    await owner.delete(keysPath(id, revoked.keyId));
    await age(expired.keyId, 'partner_principal_key');
    for (const body of [{}, { expiresAt: LATER }]) {
      expect(outcome(await rotate(owner, id, revoked.keyId, body))).toBe('409 revoked');
      expect(outcome(await rotate(owner, id, expired.keyId, body))).toBe('409 expired');
    }
  });

  it('refuses an expiry in the past', async () => {
    const { id } = await buildPrincipal(owner);
    const { keyId } = await issueKey(owner, id);
    expect(outcome(await owner.post(keysPath(id), { name: 'Key', expiresAt: PAST }))).toBe('400 invalid_expiry');
    expect(outcome(await rotate(owner, id, keyId, { expiresAt: PAST }))).toBe('400 invalid_expiry');
  });

  it('requires the permissions of every scope of the principal', async () => {
    const { id } = await buildPrincipal(owner, { scopes: ['sites:read', 'devices:read'] });
    const { keyId } = await issueKey(owner, id);
    const as = (...permissions: Permission[]) =>
      service.as({ partnerId, permissions: ['organizations:write', ...permissions] });
    const [restricted, wide] = [await as('sites:read'), await as('sites:read', 'devices:read')];
    expect(outcome(await restricted.post(keysPath(id), { name: 'Key' }))).toBe('403 permission_not_delegable');
    expect(outcome(await rotate(restricted, id, keyId))).toBe('403 permission_not_delegable');
    expect((await wide.post(keysPath(id), { name: 'Key' })).status).toBe(201);
    expect((await rotate(wide, id, keyId)).status).toBe(200);
  });

  it('revokes a key permanently and accepts a second revocation', async () => {
    const { id } = await buildPrincipal(owner);
    const key = await issueKey(owner, id);
    const responses = await racing(
      service,
      id,
      [1, 2, 3].map(() => owner.delete(keysPath(id, key.keyId))),
    );
    expect(responses.map(({ body }) => body.alreadyRevoked).sort()).toEqual([false, true, true]);
    expect(await statusOf(key)).toBe('revoked');
    await service.findBroadcast(key.keyId, 'revoked');
    expect((await service.findAuditEntry('partner_service_principal_key.revoke', id)).details).toMatchObject({
      keyId: key.keyId,
    });
  });

  it('requires write permission, the right principal and the same partner', async () => {
    const { id } = await buildPrincipal(owner);
    const other = await buildPrincipal(owner);
    const { keyId } = await issueKey(owner, id);
    const refusals = [
      [await service.as({ partnerId, permissions: ['organizations:read'] }), '403 permission_denied'],
      [await service.as({ partnerId, mfa: false }), '403 mfa_required'],
      [await service.as({ partnerId, orgAccess: 'none' }), '403 full_partner_access_required'],
      [await service.as({ partnerId: await service.createPartner() }), '404 not_found'],
    ] as const;
    for (const [client, refusal] of refusals) {
      expect(outcome(await client.post(keysPath(id), { name: 'Key' }))).toBe(refusal);
      expect(outcome(await rotate(client, id, keyId))).toBe(refusal);
      expect(outcome(await client.delete(keysPath(id, keyId)))).toBe(refusal);
    }
    for (const path of [keysPath(other.id, keyId), keysPath(id, randomUUID()), keysPath(id, 'nonsense')]) {
      expect(outcome(await owner.post(`${path}/rotate`))).toBe('404 not_found');
      expect(outcome(await owner.delete(path))).toBe('404 not_found');
    }
    expect((await keysOf(id)).map(({ status }) => status)).toEqual(['active']);
  });
});
