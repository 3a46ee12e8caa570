import { connect, type NatsConnection, NatsError } from 'nats';
import type { ServiceName } from '../fleet/services.js';
import { isAtLeast } from '../stores/programs.js';
import { loadMessaging, type Messaging, natsOptions, type ServiceConfig } from './built-code.js';
import type { Configurations } from './configuration.js';
import { reasonOf, type Report } from './finding.js';

/** Reading several messages with one request needs it. */
const MINIMUM = '2.11';
const FULL = 0.8;
const BACKLOG = 100_000;
const REPLY_MS = 2_000;
const STREAM_SETUP = 'run node libs/messaging/dist/setup-streams.js with NATS_ADMIN_URL';

/** Checks the login of each service, its durable consumers, the streams and how full they are. */
export async function checkNats(configurations: Configurations, adminUrl: string | undefined, report: Report) {
  const messaging = await loadMessaging();
  for (const [service, config] of configurations) {
    await useNats(service, config.natsUrl, report, async (connection) => {
      checkServer(connection, report);
      await checkPermissions(connection, service, config, report);
      await checkDurables(connection, service, messaging, report);
    });
  }
  if (adminUrl) {
    await useNats('NATS administrator', adminUrl, report, (admin) => checkStreams(admin, messaging, report));
  }
  report.checked.push(adminUrl ? 'NATS' : 'NATS (streams only by their consumers: NATS_ADMIN_URL is not set)');
}

async function useNats(
  subject: string,
  url: string,
  report: Report,
  work: (connection: NatsConnection) => Promise<void>,
): Promise<void> {
  try {
    const options = await natsOptions(url, 'doctor');
    const connection = await connect({ ...options, timeout: REPLY_MS, reconnect: false });
    await work(connection).finally(() => connection.close());
  } catch (error) {
    report.problem(subject, {
      what: `its login at NATS cannot be used: ${reasonOf(error)}`,
      why: 'events, requests between services and the audit log wait',
      action: 'start NATS, or correct NATS_URL and the password of the login',
    });
  }
}

function checkServer({ info }: NatsConnection, report: Report): void {
  if (report.checked.includes('NATS server')) return;
  report.checked.push('NATS server');
  if (!info?.jetstream) {
    report.problem('NATS', {
      what: 'JetStream is off',
      why: 'no event can be published or stored',
      action: 'enable it in the configuration of the server: deploy/nats/nats.conf',
    });
  }
  if (isAtLeast(info?.version ?? '0', MINIMUM)) return;
  report.problem('NATS', {
    what: `version ${info?.version} is older than ${MINIMUM}`,
    why: 'services refuse to start on it',
    action: 'upgrade NATS',
  });
}

/** A login that may list streams is not restricted to the subjects of its service. */
async function checkPermissions(
  connection: NatsConnection,
  service: ServiceName,
  config: ServiceConfig,
  report: Report,
) {
  const manager = await connection.jetstreamManager({ checkAPI: false, timeout: REPLY_MS });
  const isRestricted = await manager.streams
    .names()
    .next()
    .then(() => false, isForbidden);
  if (isRestricted || !connection.info?.jetstream) return;
  const text = {
    what: 'its login at NATS is not restricted',
    why: 'a service that is taken over could publish and read what belongs to others',
    action: 'give each service a login with the permissions of deploy/nats/permissions.json',
  };
  if (config.isProduction) report.problem(service, text);
  else report.note(service, text);
}

const isForbidden = (error: unknown): boolean =>
  error instanceof NatsError && /PERMISSIONS|AUTHORIZATION/.test(error.code);

async function checkDurables(connection: NatsConnection, service: ServiceName, messaging: Messaging, report: Report) {
  if (!connection.info?.jetstream) return;
  const manager = await connection.jetstreamManager({ checkAPI: false, timeout: REPLY_MS });
  for (const { name, stream } of messaging.DURABLES.filter((durable) => durable.service === service)) {
    const streamName = messaging.STREAMS[stream]?.name ?? stream;
    await manager.consumers.info(streamName, name).then(
      ({ num_pending: pending }) => {
        if (pending <= BACKLOG) return;
        report.note(service, {
          what: `${pending} messages wait for its consumer ${name}`,
          why: 'effects of events are late',
          action: `see ./fleet logs ${service}; add replicas when it is at its limit`,
        });
      },
      (error: unknown) =>
        report.problem(service, {
          what: `the consumer ${name} of ${streamName} cannot be used: ${reasonOf(error)}`,
          why: 'the service does not become ready',
          action: isForbidden(error) ? 'permit it: deploy/nats/permissions.json' : STREAM_SETUP,
        }),
    );
  }
}

async function checkStreams(connection: NatsConnection, { STREAMS }: Messaging, report: Report): Promise<void> {
  if (!connection.info?.jetstream) return;
  const manager = await connection.jetstreamManager({ timeout: REPLY_MS });
  const sizes: string[] = [];
  for (const { name } of Object.values(STREAMS)) {
    const stream = await manager.streams.info(name).catch(() => null);
    if (stream) sizes.push(`${name} ${stream.state.messages} messages, ${megabytes(stream.state.bytes)} MB`);
    else {
      report.problem('NATS', {
        what: `the stream ${name} is missing`,
        why: 'services that publish to it keep their messages in the outbox, and consumers are not ready',
        action: STREAM_SETUP,
      });
    }
  }
  report.checked.push(...sizes);
  const { storage, limits } = await manager.getAccountInfo();
  if (limits.max_storage <= 0 || storage <= FULL * limits.max_storage) return;
  report.problem('NATS', {
    what: `the streams use ${megabytes(storage)} of ${megabytes(limits.max_storage)} MB`,
    why: 'a full server refuses events; they wait in the outboxes',
    action: 'raise max_file of the account, or correct the consumer that is behind',
  });
}

const megabytes = (bytes: number): number => Math.round(bytes / 1e6);
