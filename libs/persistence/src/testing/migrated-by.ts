import { createHash } from 'node:crypto';
import { type MigrationClass, runMigrations } from '../migrations/migrations-runner.service.js';

interface SchemaUrls {
  owner: string;
  service: string;
  worker: string;
}

/**
 * Returns the preparation of databases by migrations, for `createDatabase` of the stores of a spec file. The key contains the
 * text of the migrations: a changed one is run again.
 */
export function migratedBy<Schema extends string>(schema: Schema, migrations: readonly MigrationClass[]) {
  const texts = migrations.map((migration) => `${migration.name} ${migration.toString()}`);
  return {
    key: createHash('sha256').update(JSON.stringify(texts)).digest('hex'),
    run: ({ [schema]: urls }: Record<Schema, SchemaUrls>): Promise<string[]> =>
      runMigrations({
        schema,
        migrations,
        migrationsDatabaseUrl: urls.owner,
        databaseUrl: urls.service,
        workerDatabaseUrl: urls.worker,
      }),
  };
}
