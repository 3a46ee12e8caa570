import { Module } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { HealthRegistry, MetricsRegistry } from '@rmm/service-kit';
import { eventually, startStores, type Stores, type TestDatabase } from '@rmm/testing-services';
import { optionsFor, partner, partnerA, query, SCHEMA } from '../../test/persistence-test-database.js';
import { TenantDatabase } from '../tenants/tenant-database.service.js';
import { WorkerDatabase } from '../worker/worker-database.service.js';
import { PersistenceModule } from './persistence.module.js';

const METRICS = { provide: MetricsRegistry, useFactory: () => new MetricsRegistry('provisioning') };

@Module({ providers: [HealthRegistry, METRICS], exports: [HealthRegistry, MetricsRegistry] })
class HealthModule {}

describe('PersistenceModule', () => {
  let stores: Stores;
  let database: TestDatabase<typeof SCHEMA>;

  beforeAll(async () => {
    stores = await startStores();
  });
  beforeEach(async () => {
    database = await stores.createDatabase([SCHEMA]);
  });
  afterAll(() => stores.stop());

  it('migrates, provides both databases, reports its health and closes', async () => {
    const gate = await stores.gate(database.adminUrl);
    const at = (url: string) => Object.assign(new URL(url), { port: new URL(gate.url).port }).href;
    const { service, worker } = database.urls[SCHEMA];
    const options = optionsFor(database, { databaseUrl: at(service), workerDatabaseUrl: at(worker) });
    const moduleRef = await Test.createTestingModule({
      imports: [{ module: HealthModule, global: true }, PersistenceModule.forRoot(options)],
    }).compile();
    await moduleRef.init();

    expect(await moduleRef.get(TenantDatabase).read(partner(partnerA), 'select name from device')).toEqual([]);
    expect(await moduleRef.get(WorkerDatabase).query('select name from device')).toEqual([]);
    const check = () => moduleRef.get(HealthRegistry).checks.get('database')?.();
    await expect(check()).resolves.toBeUndefined();
    await gate.shut();
    await eventually(() => expect(check()).rejects.toThrow());
    await gate.open();
    await moduleRef.close();

    const open = await query(
      database.adminUrl,
      `select 1 from pg_stat_activity where usename like 'rmm\\_test%' and datname = current_database()`,
    );
    expect(open).toEqual([]);
  });

  it('shows connections in use, and requests that wait for one, in the metrics', async () => {
    const options = optionsFor(database);
    const moduleRef = await Test.createTestingModule({
      imports: [{ module: HealthModule, global: true }, PersistenceModule.forRoot(options)],
    }).compile();
    await moduleRef.init();
    const valueOf = async (name: string, labels: object = { pool: 'worker' }) => {
      const metric = await moduleRef.get(MetricsRegistry).registry.getSingleMetric(name)?.get();
      return metric?.values.find((one) => JSON.stringify(one.labels) === JSON.stringify(labels))?.value;
    };
    const used = () => valueOf('rmm_db_pool_connections', { pool: 'worker', state: 'used' });
    const limit = await valueOf('rmm_db_pool_limit');
    expect(limit).toBe(options.config.pools.workerMax);
    expect(await used()).toBe(0);
    const sleeping = Array.from({ length: options.config.pools.workerMax + 1 }, () =>
      moduleRef.get(WorkerDatabase).query('select pg_sleep(1)'),
    );
    await eventually(async () => expect([await used(), await valueOf('rmm_db_pool_waiting')]).toEqual([limit, 1]));
    await Promise.all(sleeping);
    expect(await valueOf('rmm_db_pool_waiting')).toBe(0);
    await moduleRef.close();
  });
});
