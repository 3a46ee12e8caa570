import { randomUUID } from 'node:crypto';
import { createRequire } from 'node:module';
import path from 'node:path';
import { Failure } from '../failure.mjs';
import { natsOptions } from '../fleet/nats-logins.mjs';
import { say } from '../fleet/reporter.mjs';
import { runningState } from '../fleet/state.mjs';
import { ROOT } from '../paths.mjs';
import { postgresClient } from '../stores/probe-postgres.mjs';
import { readOptions } from './options.mjs';

const UUID = /^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$/i;

/** `fleet emit <event-type> --org <id> [--data json]`: publishes a domain event as another RMM service would. */
export default async function emit(args) {
  const { values, positionals } = readOptions(
    args,
    { org: { type: 'string' }, data: { type: 'string', default: '{}' } },
    { allowPositionals: true },
  );
  const [type] = positionals;
  if (!type || !/^[a-z_]+(\.[a-z_]+)+$/.test(type))
    throw new Failure('fleet emit wants an event type, as in: fleet emit alert.triggered --org <id>');
  if (!UUID.test(values.org ?? '')) throw new Failure('fleet emit wants --org <id of an organization>');
  const summary = runningState()?.summary;
  if (!summary) throw new Failure('The fleet is not running. Start it with: fleet up');

  const orgId = values.org.toLowerCase();
  const message = {
    id: randomUUID(),
    type,
    timestamp: new Date().toISOString(),
    orgId,
    partnerId: await partnerOf(orgId, summary.databaseUrl),
    data: readData(values.data),
  };
  await publish(`rmm.events.${orgId}.${type}`, message, summary.natsAdminUrl);
  say(`${type} ${message.id}`);
}

function readData(text) {
  try {
    const data = JSON.parse(text);
    if (data && typeof data === 'object' && !Array.isArray(data)) return data;
  } catch {
    // answered below
  }
  throw new Failure(`--data must be a JSON object, got: ${text}`);
}

/** An event carries the partner too; another RMM service would know it. */
async function partnerOf(orgId, databaseUrl) {
  const client = postgresClient(databaseUrl);
  await client.connect();
  try {
    const { rows } = await client.query('select partner_id from provisioning.organization where id = $1', [orgId]);
    if (!rows[0]) throw new Failure(`There is no organization ${orgId}.`);
    return rows[0].partner_id;
  } finally {
    await client.end();
  }
}

async function publish(subject, message, natsUrl) {
  const nats = createRequire(path.join(ROOT, 'package.json'))('nats');
  const connection = await nats.connect(natsOptions(natsUrl));
  try {
    const payload = new TextEncoder().encode(JSON.stringify(message));
    await connection.jetstream().publish(subject, payload, { msgID: message.id, timeout: 5_000 });
  } finally {
    await connection.close();
  }
}
