import { DispatcherTestDatabase } from '../../test/dispatcher-test-database.js';
import { DeliveryRetentionRepository } from './delivery-retention.repository.js';

describe('DeliveryRetentionRepository', () => {
  let database: DispatcherTestDatabase;
  let repository: DeliveryRetentionRepository;

  beforeAll(async () => {
    database = await DispatcherTestDatabase.start();
    repository = new DeliveryRetentionRepository(database.worker);
  }, 120_000);
  afterAll(() => database?.stop());

  const rules = async () => {
    const rows = await database.rows<{ name: string; days: number }>(
      'SELECT table_name AS name, keep_days AS days FROM rmm_partition_rule',
    );
    return Object.fromEntries(rows.map(({ name, days }) => [name, days]));
  };

  it('sets the days of the history and of no other table', async () => {
    const before = await rules();
    await repository.setDays(8);
    const history = { delivery: 8, attempt: 8, event_body: 8, dead_letter: 8 };
    expect(await rules()).toEqual({ ...before, ...history });
    expect(Object.keys(before).length).toBeGreaterThan(4);
  });

  it.each([0, 7, 366])('keeps the rules for %i days, which would drop too much or nothing', async (days) => {
    await repository.setDays(365);
    await repository.setDays(days);
    expect(await rules()).toMatchObject({ delivery: 365, dead_letter: 365 });
  });

  it('changes rules by the function only', async () => {
    const change = database.worker.query('UPDATE rmm_partition_rule SET keep_days = 9');
    await expect(change).rejects.toThrow(/permission denied/);
  });
});
