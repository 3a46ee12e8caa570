import { setTimeout as sleep } from 'node:timers/promises';
import { restAfter } from './rest-after.js';

describe('restAfter', () => {
  it('rests for longer than the work took', async () => {
    const rest = restAfter();
    const startedAt = performance.now();
    await sleep(20);
    const tookMs = performance.now() - startedAt;
    await rest();
    expect(performance.now() - startedAt).toBeGreaterThan(2 * tookMs);
  });
});
