import type { DenialAuditService } from '@rmm/access';
import { ConflictError, MetricsRegistry, runInContext, UnauthenticatedError } from '@rmm/service-kit';
import { LoginMetrics } from './login.metrics.js';
import { RefusedAttemptsService } from './refused-attempts.service.js';
import type { SessionsService } from './sessions.service.js';

const OWNER = { userId: 'u', email: 'owner@users.test', partnerId: 'p', orgId: null };
const ATTEMPT = { code: 'refresh_invalid', route: 'POST /api/v1/auth/refresh' };

function serviceWith(findRefreshTokenOwner: () => Promise<unknown> = () => Promise.resolve(OWNER)) {
  const recorded: Parameters<DenialAuditService['record']>[0][] = [];
  const denials = { record: (denial: (typeof recorded)[number]) => recorded.push(denial) };
  const metrics = new MetricsRegistry('identity');
  const service = new RefusedAttemptsService(
    denials as unknown as DenialAuditService,
    { findRefreshTokenOwner } as unknown as SessionsService,
    new LoginMetrics(metrics),
  );
  return { service, recorded, metrics };
}
const actorsOf = (recorded: ReturnType<typeof serviceWith>['recorded']) =>
  recorded.map(({ caller }) => [caller.actor.id, caller.tenant.partnerId]);

describe('RefusedAttemptsService', () => {
  it('records an attempt under the owner of the token and its tenant', async () => {
    const { service, recorded } = serviceWith();
    await service.recordForToken('token', ATTEMPT);
    expect(recorded).toMatchObject([{ action: 'access.denied', ...ATTEMPT }]);
    expect(actorsOf(recorded)).toEqual([['u', 'p']]);
  });

  it('counts a refused second step of a login, and no other attempt', async () => {
    const { service, metrics } = serviceWith();
    service.recordForUser(null, { ...ATTEMPT, action: 'user.login.failed', code: 'mfa_session_invalid' });
    await service.recordForToken('token', ATTEMPT);
    const logins = await metrics.registry.getSingleMetric('rmm_logins_total')?.get();
    expect(logins?.values).toEqual([
      expect.objectContaining({ value: 1, labels: { method: 'mfa', outcome: 'mfa_session_invalid' } }),
    ]);
  });

  it('records an attempt without an actor when the token is absent, unknown or cannot be looked up', async () => {
    const unknown = serviceWith(() => Promise.resolve(null));
    await unknown.service.recordForToken('token', ATTEMPT);
    await unknown.service.recordForToken(undefined, ATTEMPT);
    const broken = serviceWith(() => Promise.reject(new Error('database is down')));
    await broken.service.recordForToken('token', ATTEMPT);
    expect(actorsOf([...unknown.recorded, ...broken.recorded])).toEqual(Array(3).fill([null, null]));
  });

  it('records nothing when the request has an entry already', async () => {
    const { service, recorded } = serviceWith();
    await runInContext({ requestId: 'r', audited: true }, () => service.recordForToken('token', ATTEMPT));
    expect(recorded).toEqual([]);
  });

  it('records the named errors of a call and passes every outcome on', async () => {
    const { service, recorded } = serviceWith();
    const attempt = { action: 'user.invite.accepted', errors: [ConflictError], route: 'POST /x' } as const;
    await expect(service.auditing(attempt, () => Promise.resolve(7))).resolves.toBe(7);
    await expect(service.auditing(attempt, () => Promise.reject(new UnauthenticatedError()))).rejects.toThrow(
      UnauthenticatedError,
    );
    await expect(service.auditing(attempt, () => Promise.reject(new ConflictError()))).rejects.toThrow(ConflictError);
    expect(recorded).toMatchObject([{ action: 'user.invite.accepted', code: 'conflict', route: 'POST /x' }]);
  });
});
