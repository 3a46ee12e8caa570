import { randomUUID } from 'node:crypto';
import { type ApplySecurityPolicyRequest } from '@rmm/contracts';
import { ConflictError, serializeError } from '@rmm/service-kit';
import { eventually } from '@rmm/testing-services';
import { ProvisioningUnderTest } from '../../test/provisioning-under-test.js';

class WouldLockOut extends ConflictError {
  override code = 'mfa_policy_would_lock_out_users';
  override error = 'The policy would lock out users who are enrolled';
}

const SECURITY = { requireMfa: true, allowedMfaMethods: { sms: false } };

describe('settings.security of an organization', () => {
  let service: ProvisioningUnderTest;
  let partnerId: string;
  let orgId: string;
  let asked: ApplySecurityPolicyRequest[];

  beforeAll(async () => {
    service = await ProvisioningUnderTest.start();
    partnerId = await service.partner();
  }, 60_000);
  afterAll(() => service?.stop());

  beforeEach(async () => {
    const client = await service.as({ partnerId });
    orgId = (await client.post('/orgs/organizations', { name: 'Customer', settings: { theme: 'dark' } })).body.id;
    asked = [];
    let version = 0;
    service.identity.onApplyPolicy = (request) => {
      asked.push(request);
      return { value: { security: SECURITY, version: (version += 1) } };
    };
  });

  const path = () => `/orgs/organizations/${orgId}`;
  const tell = (version: number, security: object, about = orgId) =>
    service.tell({
      type: 'organization.security_policy_updated',
      partnerId,
      aggregateVersion: version,
      data: { orgId: about, partnerId, security, version },
    });

  it('is handed to identity with who asks, the rest is saved, and the answer shows both', async () => {
    const client = await service.as({ partnerId });
    const security = { requireMfa: true, allowedMethods: { sms: false } };
    const answer = await client.patch(path(), { name: 'Renamed', settings: { security, locale: 'de' } });
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({
      name: 'Renamed',
      settings: { theme: 'dark', locale: 'de', security: SECURITY },
    });
    expect(asked).toMatchObject([
      {
        orgId,
        partnerId,
        orgName: 'Customer',
        security,
        caller: { scope: 'partner', partnerId, orgId: null, mfa: true },
        ipAddress: expect.any(String),
      },
    ]);
    const shown = await client.get(path());
    expect(shown.body.settings.security).toEqual(SECURITY);
    const listed = (await client.get('/orgs/organizations')).body.data as { id: string; settings: object }[];
    expect(listed.find(({ id }) => id === orgId)?.settings).toMatchObject({ security: SECURITY });
    const update = await service.hears('organization.update', (envelope) => envelope.orgId === orgId);
    expect(update.data).toMatchObject({ details: { fields: ['name', 'settings'] } });
  });

  it('may be changed alone, by an organization caller too, and is all the settings it sees', async () => {
    const member = await service.as({ scope: 'organization', partnerId, orgId });
    const answer = await member.patch(path(), { settings: { security: { requireMfa: true } } });
    expect([answer.status, answer.body.settings]).toEqual([200, { security: SECURITY }]);
    expect(asked[0].caller).toMatchObject({ scope: 'organization', orgId });
    const { rows } = await service.admin.query('select version from organization where id = $1', [orgId]);
    expect(rows).toEqual([{ version: '1' }]);
  });

  it('that identity refuses leaves nothing of the request saved, and the answer is identity’s', async () => {
    const client = await service.as({ partnerId });
    const refusal = new WouldLockOut(undefined, { extras: { count: 3, countCapped: false } });
    service.identity.onApplyPolicy = () => ({ error: serializeError(refusal) });
    const answer = await client.patch(path(), { name: 'Renamed', settings: { security: SECURITY, locale: 'de' } });
    expect([answer.status, answer.body]).toMatchObject([
      409,
      { code: 'mfa_policy_would_lock_out_users', error: refusal.error, count: 3, countCapped: false },
    ]);
    expect((await client.get(path())).body).toMatchObject({ name: 'Customer', settings: { theme: 'dark' } });
    expect((await client.get(path())).body.settings.security).toBeUndefined();
  });

  it('is not asked of identity for what fails anyway: no factor, other tenant, no permission, slug taken', async () => {
    const body = { slug: `taken-${orgId.slice(0, 8)}`, settings: { security: SECURITY } };
    const client = await service.as({ partnerId });
    await client.post('/orgs/organizations', { name: 'Other', slug: body.slug });
    const other = await service.as({ partnerId: await service.partner() });
    const attempts = [
      [await service.as({ partnerId, mfa: false }), 403, 'mfa_required'],
      [await service.as({ partnerId, permissions: ['organizations:read'] }), 403, 'permission_denied'],
      [await service.as({ scope: 'organization', partnerId, orgId }), 403, 'scope_not_allowed'],
      [other, 404, 'not_found'],
      [client, 409, 'organization_slug_conflict'],
    ] as const;
    for (const [somebody, status, code] of attempts) {
      const answer = await somebody.patch(path(), body);
      expect([answer.status, answer.body.code]).toEqual([status, code]);
    }
    expect(asked).toEqual([]);
    const denied = await service.hears('security_policy.update', ({ data }) => JSON.stringify(data).includes(orgId));
    expect(denied.data).toMatchObject({ result: 'denied', details: { reason: 'mfa_required' } });
  });

  it('cannot be changed while identity does not answer: 503, and nothing is saved', async () => {
    const client = await service.as({ partnerId });
    service.identity.onApplyPolicy = () => undefined;
    const answer = await client.patch(path(), { name: 'Renamed', settings: { security: SECURITY } });
    expect([answer.status, answer.body.code]).toEqual([503, 'service_unavailable']);
    expect((await client.get(path())).body.name).toBe('Customer');
  }, 20_000);

  it('follows identity by event; an older fact and one about a foreign organization change nothing', async () => {
    const client = await service.as({ partnerId });
    const [newest, unknown] = [{ requireMfa: true }, randomUUID()];
    await tell(3, newest);
    await tell(2, { requireMfa: false });
    await tell(4, {}, unknown);
    await tell(5, { passwordMinLength: 12 });
    await eventually(async () =>
      expect((await client.get(path())).body.settings.security).toEqual({ passwordMinLength: 12 }),
    );
    const { rows } = await service.admin.query('select org_id from organization_security where org_id = $1', [unknown]);
    expect(rows).toEqual([]);
  });

  it('takes an answer that is older than the fact that came first for what it is', async () => {
    const client = await service.as({ partnerId });
    await tell(9, { passwordMinLength: 20 });
    await eventually(async () => expect((await client.get(path())).body.settings.security).toBeDefined());
    const answer = await client.patch(path(), { settings: { security: SECURITY } });
    expect(answer.body.settings.security).toEqual({ passwordMinLength: 20 });
  });
});
