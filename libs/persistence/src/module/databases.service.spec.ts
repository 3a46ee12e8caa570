import { Logger } from '@nestjs/common';
import { startStores, type Stores, type TestDatabase } from '@rmm/testing-services';
import { optionsFor, query, SCHEMA } from '../../test/persistence-test-database.js';
import { Databases, openDatabases, type PersistenceConfig, StartRefused } from './databases.service.js';

describe('Databases', () => {
  let stores: Stores;
  let database: TestDatabase<typeof SCHEMA>;

  beforeAll(async () => {
    stores = await startStores();
  });
  beforeEach(async () => {
    database = await stores.createDatabase([SCHEMA]);
  });
  afterAll(() => stores.stop());

  describe('behind a pooler in transaction mode', () => {
    const pooled = () => {
      const { worker } = database.urls[SCHEMA];
      return optionsFor(database, { directWorkerDatabaseUrl: worker });
    };

    it('refuses to start until the settings of a session are the defaults of the logins, and lists the statements', async () => {
      const opened = Databases.open(pooled());
      await expect(opened).rejects.toThrow(StartRefused);
      const message = await opened.then(
        () => '',
        (error: Error) => error.message,
      );
      const statements = [...message.matchAll(/ALTER ROLE .+? SET .+? = '.*?'/g)].map(([statement]) => statement);
      expect(statements.filter((statement) => statement.includes(`SET search_path = '${SCHEMA}'`))).toHaveLength(2);
      await query(database.adminUrl, statements.join(';'));
      const databases = await Databases.open(pooled());
      await databases.close();
    });

    it('refuses a direct address with another login', async () => {
      const options = pooled();
      options.config.directWorkerDatabaseUrl = database.adminUrl;
      await expect(Databases.open(options)).rejects.toThrow(
        'DIRECT_WORKER_DATABASE_URL must have the login of WORKER_DATABASE_URL, rmm_test_provisioning_worker',
      );
    });
  });

  describe('refuses to start on a login that bypasses row-level security', () => {
    const refusal = async (config: Partial<PersistenceConfig>) => {
      const opened = Databases.open(optionsFor(database, config));
      await expect(opened).rejects.toThrow(StartRefused);
      return opened.then(
        () => '',
        (error: Error) => error.message,
      );
    };
    const role = `rmm_test_odd_${process.pid}`;
    const loginAs = (name: string) =>
      Object.assign(new URL(database.adminUrl), { username: name, password: 'odd' }).href;

    afterEach(async () => {
      await query(database.adminUrl, `drop owned by ${role}`).catch(() => undefined);
      await query(database.adminUrl, `drop role if exists ${role}`);
    });

    it('a superuser', async () => {
      const message = await refusal({ databaseUrl: database.adminUrl });
      expect(message).toMatch(/DATABASE_URL: \w+ is a superuser/);
    });

    it('the owner', async () => {
      const { owner } = database.urls[SCHEMA];
      expect(await refusal({ databaseUrl: owner })).toContain('owns the schema provisioning');
      expect(await refusal({ workerDatabaseUrl: owner })).toContain(
        'WORKER_DATABASE_URL: rmm_test_provisioning_owner owns',
      );
    });

    it('the other login', async () => {
      const { worker } = database.urls[SCHEMA];
      expect(await refusal({ databaseUrl: worker })).toContain('is, or is a member of, the other login');
    });

    it.each([
      ['has BYPASSRLS', 'bypassrls'],
      ['has CREATEROLE', 'createrole'],
      ['is a member of its owner', `in role rmm_test_${SCHEMA}_owner`, 'or is a member of its owner'],
      ['is a member of the worker login', `in role rmm_test_${SCHEMA}_worker`, 'is a member of, the other login'],
      ['may become a superuser', 'in role postgres_like', 'is a member of a superuser'],
      ['may read files of the server', 'in role pg_read_server_files', 'is a member of pg_execute_server_program'],
      ['may create in the schema', '', 'may create objects'],
    ])('one that %s', async (what, attribute, text = what) => {
      const superuser = `${role}_super`;
      await query(database.adminUrl, `create role ${superuser} superuser`);
      try {
        await query(
          database.adminUrl,
          `create role ${role} login password 'odd' ${attribute.replace('postgres_like', superuser)}`,
        );
        await query(
          database.adminUrl,
          `grant usage${attribute === '' ? ', create' : ''} on schema ${SCHEMA} to ${role}`,
        );
        expect(await refusal({ databaseUrl: loginAs(role) })).toContain(text);
      } finally {
        await query(database.adminUrl, `drop role ${superuser}`);
      }
    });

    it('a worker login that may not act as the service login, or has its rights at all times', async () => {
      const { service } = database.urls[SCHEMA];
      const serviceRole = new URL(service).username;
      await query(database.adminUrl, `create role ${role} login noinherit password 'odd'`);
      await query(database.adminUrl, `grant usage on schema ${SCHEMA} to ${role}`);
      expect(await refusal({ workerDatabaseUrl: loginAs(role) })).toContain(`may not act as ${serviceRole}`);
      await query(database.adminUrl, `alter role ${role} inherit; grant ${serviceRole} to ${role}`);
      expect(await refusal({ workerDatabaseUrl: loginAs(role) })).toContain(`has the rights of ${serviceRole}`);
    });

    it('listing every problem of both logins', async () => {
      const { owner } = database.urls[SCHEMA];
      const message = await refusal({ databaseUrl: owner, workerDatabaseUrl: database.adminUrl });
      expect(message).toContain(' DATABASE_URL: ');
      expect(message).toContain('WORKER_DATABASE_URL: ');
    });

    it('without the schema', async () => {
      const options = { ...optionsFor(database), schema: 'elsewhere' };
      await expect(Databases.open(options)).rejects.toThrow('finds no schema elsewhere');
    });
  });

  it('waits a limited time for a server that is starting', async () => {
    const gate = await stores.gate(database.adminUrl);
    const at = (url: string) => Object.assign(new URL(url), { port: new URL(gate.url).port }).href;
    const { service, worker } = database.urls[SCHEMA];
    const options = optionsFor(database, { databaseUrl: at(service), workerDatabaseUrl: at(worker) });
    await gate.shut();
    await expect(openDatabases(options, 100)).rejects.toThrow();
    const opening = openDatabases(options);
    await gate.open();
    await (await opening).close();
  });

  it('logs once which database it cannot reach and why while it tries again', async () => {
    const { service, worker } = database.urls[SCHEMA];
    const at = (url: string) => Object.assign(new URL(url), { port: '1' }).href;
    const options = optionsFor(database, { databaseUrl: at(service), workerDatabaseUrl: at(worker) });
    const warn = jest.spyOn(Logger.prototype, 'warn').mockImplementation();
    await expect(openDatabases(options, 4_500)).rejects.toThrow();
    expect(warn.mock.calls).toEqual([[expect.stringMatching(/127\.0\.0\.1:1 failed \(ECONNREFUSED\)/)]]);
    expect(String(warn.mock.calls)).not.toContain(new URL(service).password);
    warn.mockRestore();
  });
});
