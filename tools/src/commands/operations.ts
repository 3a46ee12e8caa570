import { randomUUID } from 'node:crypto';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { say } from '../console.js';
import { FleetError } from '../errors.js';
import { askService } from '../fleet/ask-service.js';
import { assertServiceName } from '../fleet/services.js';
import { getRunningFleet } from '../fleet/state.js';
import { ROOT } from '../paths.js';
import { withNats, withPostgres } from '../stores/clients.js';

const UUID = /^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$/i;

/** Publishes a domain event as another RMM service would. */
export async function emit(type: string, { org, data }: { org: string; data: string }): Promise<void> {
  if (!UUID.test(org)) throw new FleetError(`--org must be the id of an organization, got "${org}"`);
  const parsed = parseObject(data);
  const { databaseUrl, natsAdminUrl } = getRunningFleet().summary;
  // The running fleet has compiled the list of types.
  const contracts = pathToFileURL(path.join(ROOT, 'libs/contracts/dist/index.js')).href;
  const { EVENT_TYPES } = (await import(contracts)) as { EVENT_TYPES: readonly string[] };
  if (!EVENT_TYPES.includes(type)) {
    throw new FleetError(`There is no event type "${type}". Event types: ${EVENT_TYPES.join(', ')}`);
  }
  const orgId = org.toLowerCase();
  const { rows } = await withPostgres(databaseUrl, (client) =>
    client.query<{ partnerId: string }>(
      'SELECT partner_id AS "partnerId" FROM provisioning.organization WHERE id = $1',
      [orgId],
    ),
  );
  if (!rows[0]) throw new FleetError(`There is no organization ${orgId}.`);
  const message = { id: randomUUID(), type, timestamp: new Date().toISOString(), orgId, ...rows[0], data: parsed };
  await withNats(natsAdminUrl, (connection) =>
    connection.jetstream().publish(`rmm.events.${orgId}.${type}`, JSON.stringify(message), { msgID: message.id }),
  );
  say(`${type} ${message.id}`);
}

function parseObject(text: string): object {
  try {
    const data: unknown = JSON.parse(text);
    if (data && typeof data === 'object' && !Array.isArray(data)) return data;
  } catch {
    // reported below
  }
  throw new FleetError(`--data must be a JSON object, got: ${text}`);
}

/** Has a service process its dead-lettered messages again, oldest first. @returns 1 when some failed again */
export async function replay(service: string, { consumer }: { consumer?: string }): Promise<number> {
  assertServiceName(service);
  const consumers = consumer ? await consumersOf(service) : [];
  if (consumer && !consumers.includes(consumer)) {
    throw new FleetError(`${service} has no consumer "${consumer}". Consumers: ${consumers.join(', ') || 'none'}`);
  }
  const subject = `rmm.operations.${service}.replay-dead-letters`;
  const reply = await askService<{ replayed: number; failed: number; left: number }>(subject, { consumer }, 60_000);
  say(`${service}: ${reply.replayed} replayed, ${reply.failed} failed again, ${reply.left} remain`);
  return reply.failed ? 1 : 0;
}

function consumersOf(service: string): Promise<string[]> {
  return withNats(getRunningFleet().summary.natsAdminUrl, async (connection) => {
    const { streams, consumers } = await connection.jetstreamManager();
    const names: string[] = [];
    for await (const stream of streams.names()) for await (const { name } of consumers.list(stream)) names.push(name);
    return names.filter((name) => name.startsWith(`${service}-`));
  });
}

/** Has access tokens signed with a new key; sessions stay valid. */
export async function rotateSigningKey(): Promise<void> {
  const subject = 'rmm.operations.identity.rotate-signing-key';
  const reply = await askService<{ kid: string; signsFrom: string; replaces: string }>(subject, {}, 10_000);
  say(`key ${reply.kid} is published and signs from ${reply.signsFrom}; ${reply.replaces} stays listed for a day more`);
}
