import { setTimeout as sleep } from 'node:timers/promises';
import { yieldAfter } from './yield-after.js';

describe('yieldAfter', () => {
  it('rests for longer than the work took', async () => {
    const rest = yieldAfter();
    const startedAt = performance.now();
    await sleep(20);
    const tookMs = performance.now() - startedAt;
    await rest();
    expect(performance.now() - startedAt).toBeGreaterThan(2 * tookMs);
  });
});
