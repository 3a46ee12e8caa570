import { randomUUID } from 'node:crypto';
import { MetricsRegistry, RateLimitedError, type Logger } from '@rmm/service-kit';
import { buildConfig, buildProvider, FakeLimits, FakeAudit } from '../../test/fakes.js';
import { LoginAuditService } from '../sessions/login-audit.service.js';
import { LoginMetrics } from '../sessions/login.metrics.js';
import type { TakenFlow } from './sso-flows.repository.js';
import { SsoRefusalsService } from './sso-refusals.service.js';
import { InvalidProviderConfiguration, SsoCodeInvalid, SsoRefused } from './sso.errors.js';

describe('SsoRefusalsService', () => {
  let limits: FakeLimits;
  let audit: FakeAudit;
  let logged: { level: string; fields: Record<string, unknown> }[];
  let refusals: SsoRefusalsService;

  beforeEach(() => {
    [limits, audit, logged] = [new FakeLimits(), new FakeAudit(), []];
    const log = (level: string) => (fields: Record<string, unknown>) => logged.push({ level, fields });
    const metrics = new LoginMetrics(new MetricsRegistry('identity'));
    refusals = new SsoRefusalsService(
      limits.asLimits,
      audit.asTrail,
      new LoginAuditService(audit.asTrail, metrics),
      metrics,
      { error: log('error'), debug: log('debug') } as unknown as Logger,
      buildConfig({ publicAppUrl: 'https://app.test', publicApiUrl: 'https://api.test' }),
    );
  });

  const flow = (purpose: TakenFlow['purpose'], userId: string | null = null) =>
    ({ purpose, userId, providerId: randomUUID() }) as TakenFlow;

  it('counts callbacks, exchanges and logouts of a client apart', async () => {
    await refusals.count('client');
    await refusals.countExchange('client');
    await refusals.countBackchannelLogout('client');
    expect(limits.hits).toEqual(['ssoCallback client', 'ssoExchange client', 'ssoBackchannelLogout client']);
  });

  it('audits a code that cannot be exchanged as a failed login without a user', async () => {
    await expect(refusals.refuseCode()).rejects.toThrow(SsoCodeInvalid);
    expect(audit.entries).toEqual([
      expect.objectContaining({
        action: 'user.login.failed',
        details: { reason: 'sso_code_invalid', method: 'sso' },
        result: 'failure',
        caller: expect.objectContaining({ actor: expect.objectContaining({ id: null }) }),
      }),
    ]);
  });

  it('returns to the application with the result in the fragment, which no server sees', () => {
    expect(refusals.returnTo('/devices?page=2', 'ssoCode=x')).toBe('https://app.test/devices?page=2#ssoCode=x');
    expect(refusals.callbackUrl).toBe('https://api.test/api/v1/sso/callback');
  });

  it.each<[string, Error, string, string]>([
    ['a refusal by its code', new SsoRefused('user_not_found', 'detail'), 'user_not_found', 'debug'],
    ['a reached limit', new RateLimitedError(), 'rate_limited', 'debug'],
    ['wrong settings', new InvalidProviderConfiguration(), 'invalid_provider_configuration', 'error'],
    ['any other error', new Error('secret of the database'), 'sso_error', 'error'],
  ])('sends %s to the login page and logs it', async (_title, error, code, level) => {
    const provider = buildProvider();
    const location = await refusals.refuse(error, { provider, flow: flow('login') });
    expect(location).toBe(`https://app.test/login?error=${code}`);
    expect(logged.map((entry) => entry.level)).toEqual([level]);
    expect(audit.entries).toMatchObject([
      {
        action: 'sso.callback.rejected',
        caller: { tenant: { partnerId: provider.partnerId, orgId: provider.orgId } },
        resource: { type: 'sso_provider', id: provider.id, name: 'Entra' },
        details: { code, purpose: 'login' },
        result: 'denied',
      },
    ]);
    expect(JSON.stringify(audit.entries)).not.toContain('secret of the database');
  });

  it('names the user whose link failed, and the provider of the login when it is gone', async () => {
    const link = flow('link', randomUUID());
    await refusals.refuse(new SsoRefused('identity_in_use'), { provider: null, flow: link });
    expect(audit.entries).toMatchObject([
      {
        action: 'sso.identity.link_rejected',
        caller: { actor: { id: link.userId }, tenant: { partnerId: null, orgId: null } },
        resource: { id: link.providerId, name: null },
      },
    ]);
  });

  it('redirects also when the audit entry cannot be stored', async () => {
    audit.failure = new Error('no database');
    const location = await refusals.refuse(new SsoRefused('sso_error'), { provider: null, flow: null });
    expect(location).toBe('https://app.test/login?error=sso_error');
    expect(logged.at(-1)).toMatchObject({ level: 'error', fields: { err: audit.failure } });
  });
});
