import { OutboundFailed, OutboundTimeout, UnsafeAddress } from '@rmm/outbound';
import type { DispatcherConfig } from '../config.js';
import { BreakersService } from './breakers.service.js';

const TIMEOUT = new OutboundTimeout(30_000);

function setUp() {
  const breakers = new BreakersService({ webhookConcurrency: 10 } as DispatcherConfig);
  const changes: [string, number][] = [];
  breakers.subscribe((webhookId, limit) => changes.push([webhookId, limit]));
  const timeOut = (times: number, webhookId = 'x') => {
    for (let i = 0; i < times; i += 1) breakers.recordFailure(webhookId, TIMEOUT, 30_000);
  };
  return { breakers, changes, timeOut };
}

describe('BreakersService', () => {
  it('allow one attempt at a time after ten timeouts, for that webhook only', () => {
    const { breakers, changes, timeOut } = setUp();
    timeOut(9);
    expect([breakers.isOpen('x'), breakers.openBreakers]).toEqual([false, 0]);
    timeOut(1);
    expect([breakers.isOpen('x'), breakers.isOpen('y'), breakers.openBreakers]).toEqual([true, false, 1]);
    timeOut(5);
    expect(changes).toEqual([['x', 1]]);
  });

  it('close with the first quick response, whatever its status', () => {
    const { breakers, changes, timeOut } = setUp();
    timeOut(12);
    breakers.recordResponse('x', 10_000);
    expect([breakers.isOpen('x'), breakers.openBreakers]).toEqual([false, 0]);
    expect(changes).toEqual([
      ['x', 1],
      ['x', 10],
    ]);
    timeOut(9);
    expect(breakers.isOpen('x')).toBe(false);
  });

  it('count only slow attempts in a row', () => {
    const { breakers, timeOut } = setUp();
    timeOut(9);
    breakers.recordResponse('x', 5);
    timeOut(9);
    expect(breakers.isOpen('x')).toBe(false);
  });

  it.each([
    ['a response after more than ten seconds', (b: BreakersService) => b.recordResponse('x', 10_001)],
    ['a refused connection', (b: BreakersService) => b.recordFailure('x', new OutboundFailed('', 'ECONNREFUSED'), 1)],
    [
      'a slow connection',
      (b: BreakersService) => b.recordFailure('x', new OutboundFailed('', 'UND_ERR_CONNECT_TIMEOUT'), 5_000),
    ],
    [
      'an untrusted certificate',
      (b: BreakersService) => b.recordFailure('x', new OutboundFailed('', 'CERT_HAS_EXPIRED'), 9),
    ],
    [
      'a name without an answer',
      (b: BreakersService) => b.recordFailure('x', new UnsafeAddress([], { cause: new Error() }), 9),
    ],
    ['a late reset', (b: BreakersService) => b.recordFailure('x', new OutboundFailed('', 'ECONNRESET'), 10_001)],
  ])('open for %s', (_, slow) => {
    const { breakers } = setUp();
    for (let i = 0; i < 10; i += 1) slow(breakers);
    expect(breakers.isOpen('x')).toBe(true);
  });

  it.each([
    ['a response within ten seconds', (b: BreakersService) => b.recordResponse('x', 10_000)],
    ['a quick reset', (b: BreakersService) => b.recordFailure('x', new OutboundFailed('', 'ECONNRESET'), 5)],
    [
      'a malformed answer',
      (b: BreakersService) => b.recordFailure('x', new OutboundFailed('', 'HPE_INVALID_CONSTANT'), 5),
    ],
  ])('close for %s', (_, quick) => {
    const { breakers, timeOut } = setUp();
    timeOut(10);
    quick(breakers);
    expect(breakers.isOpen('x')).toBe(false);
  });

  it('ignore an address that is not allowed', () => {
    const { breakers, timeOut } = setUp();
    timeOut(9);
    for (let i = 0; i < 9; i += 1) breakers.recordFailure('x', new UnsafeAddress(['private']), 1);
    expect(breakers.isOpen('x')).toBe(false);
    timeOut(1);
    breakers.recordFailure('x', new UnsafeAddress(['private']), 1);
    expect(breakers.isOpen('x')).toBe(true);
  });

  it('are removed for webhooks of other replicas', () => {
    const { breakers, timeOut } = setUp();
    timeOut(10, 'x');
    timeOut(10, 'y');
    breakers.remove((webhookId) => webhookId === 'x');
    expect([breakers.isOpen('x'), breakers.isOpen('y'), breakers.openBreakers]).toEqual([false, true, 1]);
  });

  it('pause between attempts of a webhook with an open breaker only', () => {
    const { breakers, timeOut } = setUp();
    timeOut(9);
    expect(breakers.pauseMs('x')).toBe(0);
    timeOut(1);
    expect([breakers.pauseMs('x'), breakers.pauseMs('y')]).toEqual([100, 0]);
    breakers.recordResponse('x', 20);
    expect(breakers.pauseMs('x')).toBe(0);
  });
});
