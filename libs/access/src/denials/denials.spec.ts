import { FixedClock, runInContext } from '@rmm/service-kit';
import { userCaller } from '../../test/callers.js';
import { AGGREGATE_FOR_MS, Denials } from './denials.js';

interface Row {
  action: string;
  details: Record<string, unknown>;
  result: string;
}

let clock: FixedClock;
let rows: Row[];
let warnings: number;
let failing: boolean;
let denials: Denials;

beforeEach(() => {
  clock = new FixedClock();
  rows = [];
  warnings = 0;
  failing = false;
  const audit = {
    recordDirect: (...[, action, , details = {}, result = 'success']: Parameters<DenialAudit>) => {
      rows.push({ action, details, result });
      return failing ? Promise.reject(new Error('database is down')) : Promise.resolve();
    },
  };
  denials = new Denials(audit, clock, { warn: () => (warnings += 1) });
});

type DenialAudit = ConstructorParameters<typeof Denials>[0]['recordDirect'];

function deny(route = 'GET /sites', ipAddress = '203.0.113.9', code = 'permission_denied') {
  const caller = userCaller();
  runInContext({ requestId: 'r', ipAddress }, () => denials.record({ caller, action: 'access.denied', code, route }));
}

describe('denials', () => {
  it('write the first at once, with its reason', () => {
    deny();
    expect(rows).toEqual([{ action: 'access.denied', details: { reason: 'permission_denied' }, result: 'denied' }]);
  });

  it('gather repeats from one address into one more row', () => {
    for (let i = 0; i < 500; i++) deny(`GET /route-${i}`);
    expect(rows).toHaveLength(1);
    clock.advance(AGGREGATE_FOR_MS);
    denials.sweep();
    expect(rows).toHaveLength(2);
    expect(rows[1].details).toMatchObject({ aggregated: true, count: 499, since: '2026-01-01T00:00:00.000Z' });
    expect(rows[1].details.routes).toHaveLength(10);
  });

  it('keep addresses and reasons apart', () => {
    deny();
    deny('GET /sites', '203.0.113.10');
    deny('GET /sites', '203.0.113.9', 'mfa_required');
    expect(rows).toHaveLength(3);
  });

  it('begin anew after a minute', () => {
    deny();
    clock.advance(AGGREGATE_FOR_MS);
    deny();
    expect(rows).toHaveLength(2);
  });

  it('stay bounded under a flood from everywhere', () => {
    for (let i = 0; i < 5_000; i++) deny('GET /sites', `10.0.${i >> 8}.${i & 255}`);
    expect(rows).toHaveLength(5_000);
    clock.advance(AGGREGATE_FOR_MS);
    denials.sweep();
    expect(rows).toHaveLength(5_000);
  });

  it('write what is still counted before the process ends', async () => {
    deny();
    deny();
    await denials.drain();
    expect(rows.map(({ details }) => details.count)).toEqual([undefined, 1]);
  });

  it('that cannot be written are logged, and nobody notices', async () => {
    failing = true;
    expect(() => deny()).not.toThrow();
    await denials.drain();
    expect(warnings).toBe(1);
  });
});
