import { MetricsRegistry } from '@rmm/service-kit';
import type { IdentityConfig } from '../config.js';
import { PasswordHasher } from './password-hasher.service.js';
import { HashingOverloaded } from './password.errors.js';

const cheap = { memoryKib: 1024, timeCost: 2, parallelism: 1 };
const hasher = () => new PasswordHasher(cheap, { concurrency: 2, queue: 2 });

describe('PasswordHasher', () => {
  it('compares exactly as typed', async () => {
    const hash = await hasher().hash('Correct horse battery ');
    expect(hash).toMatch(/^\$argon2id\$v=19\$m=1024,t=2,p=1\$/);
    expect(await hasher().verify(hash, 'Correct horse battery ')).toBe(true);
    expect(await hasher().verify(hash, 'Correct horse battery')).toBe(false);
    expect(await hasher().verify(hash, 'correct horse battery ')).toBe(false);
  });

  it('reports every hash, that of an unknown address and a comparison alike', async () => {
    let hashes = 0;
    const counted = new PasswordHasher(cheap, { concurrency: 2, queue: 2 }, () => (hashes += 1));
    const hash = await counted.hash('correct horse');
    await counted.verifyDecoy('warm up'); // the first one also computes the decoy
    const before = hashes;
    await counted.verifyDecoy('correct horse');
    await counted.verify(hash, 'correct horse');
    expect([before, hashes]).toEqual([3, 5]);
  });

  it('does not truncate long passwords', async () => {
    const long = 'x'.repeat(100);
    const hash = await hasher().hash(long);
    expect(await hasher().verify(hash, long.slice(0, 72))).toBe(false);
  });

  it('refuses callers beyond the queue and serves the waiting ones', async () => {
    const one = hasher();
    const hash = await one.hash('some password');
    const outcomes = await Promise.allSettled(Array.from({ length: 6 }, () => one.verify(hash, 'some password')));
    const refused = outcomes.filter((o) => o.status === 'rejected');
    expect(refused).toHaveLength(2);
    expect(refused.every((o) => o.reason instanceof HashingOverloaded)).toBe(true);
    expect(await one.verify(hash, 'some password')).toBe(true);
  });

  it('shows running, waiting and refused hashes in the metrics', async () => {
    const metrics = new MetricsRegistry('identity');
    const config = { argon2: cheap, hashing: { concurrency: 1, queue: 1 } } as unknown as IdentityConfig;
    const one = PasswordHasher.fromConfig(config, metrics);
    const valueOf = async (name: string) => (await metrics.registry.getSingleMetric(name)?.get())?.values[0]?.value;
    const hashes = Array.from({ length: 3 }, () => one.hash('some password'));
    expect(await valueOf('rmm_password_hashes_running')).toBe(1);
    expect(await valueOf('rmm_password_hashes_waiting')).toBe(1);
    await Promise.allSettled(hashes);
    expect(await valueOf('rmm_password_hashes_refused_total')).toBe(1);
    expect(await valueOf('rmm_password_hashes_running')).toBe(0);
  });

  it('requires a rehash when the cost parameters were raised', async () => {
    const old = await hasher().hash('some password');
    expect(hasher().needsRehash(old)).toBe(false);
    const dearer = new PasswordHasher({ ...cheap, memoryKib: 2048 }, { concurrency: 1, queue: 1 });
    expect(dearer.needsRehash(old)).toBe(true);
  });

  it('never accepts the decoy', async () => {
    expect(await hasher().verifyDecoy('an unknown password')).toBe(false);
  });
});
