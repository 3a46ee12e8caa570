import { StartRefusal } from '@rmm/service-kit';
import { type MigrationClass, runMigrations } from './migrations-runner.service.js';

/**
 * `node apps/<service>/dist/migrate.js`: brings the schema of a service up to date and ends, so that the running service
 * needs no login that owns its tables. Environment: MIGRATIONS_DATABASE_URL; DATABASE_URL and WORKER_DATABASE_URL, which
 * only name the logins that get the grants and need no password. The exit code is 1 when it fails.
 */
export async function migrateFromEnvironment(
  schema: string,
  migrations: readonly MigrationClass[],
  env: NodeJS.ProcessEnv = process.env,
): Promise<void> {
  try {
    const ran = await runMigrations({ schema, migrations, ...readTarget(env) });
    console.log(ran.length > 0 ? `${schema}: ran ${ran.join(', ')}` : `${schema}: up to date`);
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  }
}

/** @throws StartRefusal  naming every variable that is missing */
function readTarget(env: NodeJS.ProcessEnv) {
  const names = ['MIGRATIONS_DATABASE_URL', 'DATABASE_URL', 'WORKER_DATABASE_URL'];
  const missing = names.filter((name) => !env[name]);
  if (missing.length > 0) throw new StartRefusal(`Migrations need ${missing.join(', ')}`);
  const [migrationsDatabaseUrl, databaseUrl, workerDatabaseUrl] = names.map((name) => env[name] as string);
  return { migrationsDatabaseUrl, databaseUrl, workerDatabaseUrl };
}
