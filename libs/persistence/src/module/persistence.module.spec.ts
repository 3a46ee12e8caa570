import { Module } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { HealthRegistry } from '@rmm/service-kit';
import { eventually, startStores, type Stores, type TestDatabase } from '@rmm/testing-services';
import { optionsFor, partner, partnerA, query, SCHEMA } from '../../test/fixture.js';
import { TenantDatabase } from '../tenants/tenant-database.service.js';
import { WorkerDatabase } from '../worker/worker-database.service.js';
import { PersistenceModule } from './persistence.module.js';

jest.setTimeout(60_000);

@Module({ providers: [HealthRegistry], exports: [HealthRegistry] })
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
});
