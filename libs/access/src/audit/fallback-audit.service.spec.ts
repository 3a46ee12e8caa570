import type { AuditTrail } from '@rmm/messaging';
import { currentContext, Logger, runInContext } from '@rmm/service-kit';
import { userCaller } from '../../test/callers.js';
import { FallbackAuditService } from './fallback-audit.service.js';

describe('FallbackAuditService', () => {
  const recordDirect = jest.fn<Promise<void>, Parameters<AuditTrail['recordDirect']>>();
  const logged: string[] = [];
  const logger = Logger.create({ service: 'identity', level: 'warn', sink: { write: (line) => logged.push(line) } });
  const service = new FallbackAuditService({ recordDirect } as unknown as AuditTrail, logger);
  const call = { method: 'PATCH', path: '/api/v1/users/:id', status: 200 };

  beforeEach(() => {
    recordDirect.mockReset().mockResolvedValue(undefined);
    logged.length = 0;
  });

  it('names the method, the pattern of the route and the status, and no value of the path', () => {
    const caller = userCaller();
    service.record({ caller, ...call });
    const details = { fallback: true, ...call };
    const route = { type: 'route', name: 'PATCH /api/v1/users/:id' };
    expect(recordDirect.mock.calls).toEqual([[caller, 'request.patch', route, details]]);
  });

  it('writes nothing for callers without a tenant', () => {
    service.record({ caller: userCaller({ scope: 'system', partnerId: null, orgId: null }), ...call });
    expect(recordDirect).not.toHaveBeenCalled();
  });

  it('leaves the context of the request as it is', () => {
    recordDirect.mockImplementation(() => {
      Object.assign(currentContext() ?? {}, { audited: true });
      return Promise.resolve();
    });
    const context = { requestId: 'r' };
    runInContext(context, () => service.record({ caller: userCaller(), ...call }));
    expect(recordDirect).toHaveBeenCalledTimes(1);
    expect(context).toEqual({ requestId: 'r' });
  });

  it('logs an entry that cannot be written and does not throw', async () => {
    recordDirect.mockRejectedValue(new Error('database away'));
    service.record({ caller: userCaller(), ...call });
    await service.beforeApplicationShutdown();
    expect(logged.join()).toContain('Fallback audit row not written; it is lost');
  });

  it('waits at shutdown for the entries that are being written', async () => {
    let finish: () => void = () => undefined;
    recordDirect.mockReturnValue(new Promise((resolve) => (finish = resolve)));
    service.record({ caller: userCaller(), ...call });
    let isClosed = false;
    const closing = service.beforeApplicationShutdown().then(() => (isClosed = true));
    await Promise.resolve();
    expect(isClosed).toBe(false);
    finish();
    await closing;
  });
});
