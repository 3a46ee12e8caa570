import { Failure } from '../failure.mjs';
import { runningState } from '../fleet/state.mjs';
import { readOptions } from './options.mjs';

/** `fleet env`: the addresses as shell variables, for `eval "$(./fleet env)"`, psql and the like. They hold passwords. */
export default function env(args) {
  readOptions(args, {});
  const summary = runningState()?.summary;
  if (!summary) throw new Failure('The fleet is not running. Start it with: fleet up');
  const variables = {
    FLEET_BASE_URL: summary.baseUrl,
    FLEET_MAILBOX_URL: summary.mailboxUrl,
    FLEET_DATABASE_URL: summary.databaseUrl,
    FLEET_REDIS_URL: summary.redisUrl,
    FLEET_NATS_URL: summary.natsUrl,
    FLEET_ADMIN_EMAIL: summary.admin.email,
    FLEET_ADMIN_PASSWORD: summary.admin.password,
  };
  for (const [name, value] of Object.entries(variables))
    console.log(`export ${name}='${value.replaceAll("'", "'\\''")}'`);
}
