import type { AuditTrail } from '@rmm/messaging';
import { type Logger, runInContext } from '@rmm/service-kit';
import { FixedClock } from '@rmm/testing-services';
import { userCaller } from '../../test/callers.js';
import { AGGREGATION_MS, DenialAuditService } from './denial-audit.service.js';

interface Row {
  action: string;
  details: Record<string, unknown>;
  result: string;
}

let clock: FixedClock;
let rows: Row[];
let warnings: number;
let failing: boolean;
let denials: DenialAuditService;

beforeEach(() => {
  clock = new FixedClock();
  rows = [];
  warnings = 0;
  failing = false;
  const audit = {
    recordDirect: (...[, action, , details = {}, result = 'success']: Parameters<AddDirect>) => {
      rows.push({ action, details, result });
      return failing ? Promise.reject(new Error('database is down')) : Promise.resolve();
    },
  };
  denials = new DenialAuditService(audit as unknown as AuditTrail, clock, {
    warn: () => (warnings += 1),
  } as unknown as Logger);
});

type AddDirect = AuditTrail['recordDirect'];

function deny(route = 'GET /sites', ipAddress = '203.0.113.9', code = 'permission_denied') {
  const caller = userCaller();
  runInContext({ requestId: 'r', ipAddress }, () => denials.record({ caller, action: 'access.denied', code, route }));
}

describe('DenialAuditService', () => {
  it('writes the first denial at once, with its reason', () => {
    deny();
    expect(rows).toEqual([{ action: 'access.denied', details: { reason: 'permission_denied' }, result: 'denied' }]);
  });

  it('writes the repeats of one address as one more row', async () => {
    for (let i = 0; i < 500; i++) deny(`GET /route-${i}`);
    expect(rows).toHaveLength(1);
    clock.advance(AGGREGATION_MS);
    await denials.flushExpired();
    expect(rows).toHaveLength(2);
    expect(rows[1].details).toMatchObject({ aggregated: true, count: 499, since: '2026-01-01T00:00:00.000Z' });
    expect(rows[1].details.routes).toHaveLength(10);
  });

  it('aggregates each address and reason separately', () => {
    deny();
    deny('GET /sites', '203.0.113.10');
    deny('GET /sites', '203.0.113.9', 'mfa_required');
    expect(rows).toHaveLength(3);
  });

  it('writes the next denial at once after a minute', () => {
    deny();
    clock.advance(AGGREGATION_MS);
    deny();
    expect(rows).toHaveLength(2);
  });

  it('tracks a bounded number of denials', async () => {
    for (let i = 0; i < 5_000; i++) deny('GET /sites', `10.0.${i >> 8}.${i & 255}`);
    expect(rows).toHaveLength(5_000);
    clock.advance(AGGREGATION_MS);
    await denials.flushExpired();
    expect(rows).toHaveLength(5_000);
  });

  it('writes pending repeats on shutdown', async () => {
    deny();
    deny();
    await denials.drain();
    expect(rows.map(({ details }) => details.count)).toEqual([undefined, 1]);
  });

  it('logs a row that cannot be written and does not throw', async () => {
    failing = true;
    expect(() => deny()).not.toThrow();
    await denials.drain();
    expect(warnings).toBe(1);
  });
});
