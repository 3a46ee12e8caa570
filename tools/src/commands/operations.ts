import { randomUUID } from 'node:crypto';
import path from 'node:path';
import { dim, FleetError, say } from '../console.js';
import { load } from '../doctor/built-code.js';
import type { ServiceName } from '../fleet/services.js';
import { type FleetSummary, getRunningFleet } from '../fleet/state.js';
import type { Message } from '../mailbox/mailbox.js';
import { FLEET_DIR, readJson, writeAtomically } from '../paths.js';
import { build } from '../processes/run.js';
import { withNats, withPostgres } from '../stores/clients.js';

const UUID = /^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$/i;
const MAX_MESSAGES = 20;
const SEED_FILE = path.join(FLEET_DIR, 'seed.json');

/** Prints the addresses as shell variables, for `eval "$(./fleet env)"`, psql and the like. They contain passwords. */
export function env(): void {
  const { summary } = getRunningFleet();
  const print = (name: string, value: string) =>
    console.log(`export FLEET_${name}='${value.replaceAll("'", "'\\''")}'`);
  for (const name of ['base', 'mailbox', 'database', 'redis', 'nats'] as const) {
    print(`${name.toUpperCase()}_URL`, summary[`${name}Url`]);
  }
  print('ADMIN_EMAIL', summary.admin.email);
  print('ADMIN_PASSWORD', summary.admin.password);
}

export async function mailbox(address: string | undefined): Promise<void> {
  const { mailboxUrl } = getRunningFleet().summary;
  const query = address ? `?to=${encodeURIComponent(address)}` : '';
  const response = await fetch(`${mailboxUrl}/messages${query}`).catch(() => Response.error());
  const problem = response.ok ? null : response.status ? await response.text() : 'it does not respond';
  if (problem !== null) throw new FleetError(`The mailbox at ${mailboxUrl} cannot be read: ${problem}`);
  const { data } = (await response.json()) as { data: Message[] };
  console.log(`${mailboxUrl}\n`);
  for (const { sentAt, channel, to, subject, text } of data.slice(0, MAX_MESSAGES)) {
    console.log(`${sentAt}  ${channel.padEnd(5)}  ${to}  ${subject ?? ''}`);
    console.log(dim(text.trim().replace(/^/gm, '    ')));
  }
  if (!data.length) console.log(address ? `No mail to ${address}.` : 'Nothing was sent yet.');
}

/** Fills the running fleet with the demo of libs/testing. A second call prints the logins again. */
export async function seed(): Promise<void> {
  const { summary } = getRunningFleet();
  let lines = readJson<string[]>(SEED_FILE, ['']);
  if (lines?.length === 0) {
    throw new FleetError('An earlier seed was interrupted. Start again with: ./fleet down, reset --yes, up, seed');
  }
  if (!lines) {
    await build(['libs/testing/tsconfig.lib.json']);
    writeAtomically(SEED_FILE, JSON.stringify([]));
    type Demo = { seedDemo: (fleet: FleetSummary) => Promise<string[]> };
    const { seedDemo } = await load<Demo>('libs/testing/dist/seed-demo.js');
    lines = await seedDemo(summary).catch((error: Error) => {
      throw new FleetError(`The seed was interrupted. ${error.message}`);
    });
    writeAtomically(SEED_FILE, JSON.stringify(lines));
  }
  console.log(lines.join('\n'));
}

export async function emit(type: string, { org, data }: { org: string; data: object }): Promise<void> {
  if (!UUID.test(org)) throw new FleetError(`--org must be the id of an organization, got "${org}"`);
  const { databaseUrl, natsUrl } = getRunningFleet().summary;
  // The running fleet has compiled the list of types.
  const { EVENT_TYPES } = await load<{ EVENT_TYPES: string[] }>('libs/contracts/dist/index.js');
  if (!EVENT_TYPES.includes(type)) {
    throw new FleetError(`There is no event type "${type}". Event types: ${EVENT_TYPES.join(', ')}`);
  }
  const orgId = org.toLowerCase();
  const query = 'SELECT partner_id AS "partnerId" FROM provisioning.organization WHERE id = $1';
  const { rows } = await withPostgres(databaseUrl, (client) => client.query<{ partnerId: string }>(query, [orgId]));
  if (!rows[0]) throw new FleetError(`There is no organization ${orgId}.`);
  const message = { id: randomUUID(), type, timestamp: new Date().toISOString(), orgId, ...rows[0], data };
  await withNats(natsUrl, (connection) =>
    connection.jetstream().publish(`rmm.events.${orgId}.${type}`, JSON.stringify(message), { msgID: message.id }),
  );
  say(`${type} ${message.id}`);
}

/** Has a service process its dead-lettered messages again, oldest first. @returns 1 when some failed again */
export async function replay(service: ServiceName, { consumer }: { consumer?: string }): Promise<number> {
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
  return withNats(getRunningFleet().summary.natsUrl, async (connection) => {
    const { streams, consumers } = await connection.jetstreamManager();
    const names: string[] = [];
    for await (const stream of streams.names()) for await (const { name } of consumers.list(stream)) names.push(name);
    return names.filter((name) => name.startsWith(`${service}-`));
  });
}

export async function rotateSigningKey(): Promise<void> {
  const subject = 'rmm.operations.identity.rotate-signing-key';
  const reply = await askService<{ kid: string; signsFrom: string; replaces: string }>(subject, {}, 10_000);
  say(`key ${reply.kid} is published and signs from ${reply.signsFrom}; ${reply.replaces} stays listed for a day more`);
}

/** Asks a running service on a subject that services may not use. @throws FleetError when it reports an error */
async function askService<T>(subject: string, request: object, timeout: number): Promise<T> {
  const { natsUrl } = getRunningFleet().summary;
  const reply = await withNats(natsUrl, (connection) =>
    connection.request(subject, JSON.stringify(request), { timeout }).catch((error: Error) => {
      throw new FleetError(`The service did not reply: ${error.message}`);
    }),
  );
  const { value, error } = reply.json<{ value?: T; error?: { error?: string; code: string } }>();
  if (value === undefined) throw new FleetError(`The service refused: ${error?.error ?? error?.code}`);
  return value;
}

export async function totp(secret: string, { next }: { next?: boolean }): Promise<void> {
  if (!/^[A-Z2-7]{26,}=*$/i.test(secret)) {
    throw new FleetError('The secret must be base32 of at least 26 characters, as MFA set-up returns it.');
  }
  const { generate } = await import('otplib');
  const epoch = Math.floor(Date.now() / 1_000) + (next ? 30 : 0);
  console.log(await generate({ secret: secret.toUpperCase().replace(/=+$/, ''), epoch }));
}

/** Withdraws a signing key at once: tokens that it signed are refused everywhere; sessions continue by their refresh token. */
export async function withdrawSigningKey(kid: string): Promise<void> {
  const subject = 'rmm.operations.identity.withdraw-signing-key';
  const reply = await askService<{ kid: string; signs: string }>(subject, { kid }, 10_000);
  say(`key ${reply.kid} is withdrawn; ${reply.signs} signs`);
}
