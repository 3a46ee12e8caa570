import { MemoryBudget } from './memory-budget.js';

describe('MemoryBudget', () => {
  const fill = (budget: MemoryBudget, webhookId: string, count: number, bytes = 100) => {
    let added = 0;
    for (; added < count && budget.fits(webhookId, bytes); added += 1) budget.add(webhookId, bytes);
    return added;
  };

  it('lets a webhook without history keep fifty deliveries', () => {
    const budget = new MemoryBudget();
    expect(fill(budget, 'w', 1_000)).toBe(50);
    expect(budget.room('w')).toMatchObject({ maxRows: 50, rows: 0 });
  });

  it('lets a webhook keep two seconds of its own throughput', () => {
    const budget = new MemoryBudget();
    for (let i = 0; i < 400; i += 1) {
      budget.add('w', 100);
      budget.remove('w', 100, true);
    }
    budget.measure();
    expect(fill(budget, 'w', 10_000)).toBe(800);
    budget.measure();
    expect(budget.room('w').maxRows).toBe(400);
  });

  it('leaves a webhook with an open breaker a handful', () => {
    const budget = new MemoryBudget();
    budget.add('w', 1);
    budget.setClosed('w', true);
    expect(fill(budget, 'w', 100)).toBe(4);
    budget.setClosed('w', false);
    expect(budget.fits('w', 1)).toBe(true);
  });

  it('counts bytes, but always admits one delivery', () => {
    const budget = new MemoryBudget();
    expect(fill(budget, 'w', 100, 240_000)).toBe(4);
    expect(fill(budget, 'huge', 100, 5_000_000)).toBe(1);
  });

  it('bounds the sum over thousands of webhooks that end nothing, in rows and bytes', () => {
    const budget = new MemoryBudget();
    for (let i = 0; i < 5_000; i += 1) fill(budget, `w${i}`, 1_000, 2_000);
    expect(budget.size).toBeLessThan(130_000);
    const large = new MemoryBudget();
    for (let i = 0; i < 500; i += 1) fill(large, `w${i}`, 100, 240_000);
    expect(large.sizeInBytes).toBeLessThan(300 * 1_048_576);
    expect(large.fits('another', 240_000)).toBe(true);
  });

  it('forgets webhooks without deliveries', () => {
    const budget = new MemoryBudget();
    budget.add('w', 10);
    budget.remove('w', 10, false);
    budget.measure();
    expect([budget.size, budget.sizeInBytes, budget.room('w').rows]).toEqual([0, 0, 50]);
  });
});
