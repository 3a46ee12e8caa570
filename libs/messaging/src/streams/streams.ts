import { Logger } from '@nestjs/common';
import {
  DiscardPolicy,
  ErrorCode,
  nanos,
  NatsError,
  RetentionPolicy,
  StorageType,
  type JetStreamManager,
  type NatsConnection,
  type StreamConfig,
} from 'nats';
import pRetry from 'p-retry';
import { DUPLICATE_WINDOW_MS, DURABLES, MAX_MESSAGE_BYTES, STREAMS, type Durable } from '@rmm/contracts';
import type { NatsLink } from '../connection/nats-link.service.js';
import { UnsuitableNatsServer } from '../messaging.errors.js';
import { assertDurable, ensureDurables } from './durables.js';

/** The oldest supported server: reading several messages with one request needs 2.11. */
const MIN_SERVER = [2, 11] as const;
const STREAM_NOT_FOUND = 10_059;
/** Shorter than the time limit of a scrape. */
const REPLY_MS = 2_000;
/** The server counts headers as part of a message; the message id needs this much. */
const HEADER_BYTES = 1_024;

export interface StreamOptions {
  /** Copies of each message in a cluster; without it existing streams keep theirs and new ones get one. */
  replicas?: number;
  /** The durable consumers; all of the fleet by default. */
  durables?: readonly Durable[];
}

/**
 * At the start of a service: waits until its durable consumers exist, and creates them and the streams where its login
 * is allowed to. A service without durable consumers has nothing to wait for: its relay retries.
 * @throws UnsuitableNatsServer  at once
 * @throws Error  the last error after `withinMs`
 */
export async function prepareStreams(link: NatsLink, withinMs: number, durables: readonly Durable[]): Promise<void> {
  await pRetry(() => verifyOrEnsure(link, durables), {
    retries: Number.POSITIVE_INFINITY,
    minTimeout: 500,
    factor: 1,
    maxRetryTime: withinMs,
    shouldRetry: ({ error }) => !(error instanceof UnsuitableNatsServer),
    onFailedAttempt: ({ error, attemptNumber }) => {
      if (attemptNumber > 1) return;
      new Logger('NATS').warn(`The durable consumers are not ready; retrying until they are: ${error.message}`);
    },
  });
}

async function verifyOrEnsure(link: NatsLink, durables: readonly Durable[]): Promise<void> {
  assertSuitable(link.connection);
  try {
    await verifyDurables(link.connection, durables);
  } catch (missing) {
    await ensureStreams(link.connection, { durables }).catch((error: unknown) => {
      throw isForbidden(error) ? missing : error;
    });
  }
}

/** Checks that durable consumers are set up, with a login that may only read them. @throws Error, NatsError */
async function verifyDurables(connection: NatsConnection, durables: readonly Durable[]): Promise<void> {
  for (const { name, ...durable } of durables) await assertDurable(connection, { ...durable, durable: name });
}

const isForbidden = (error: unknown): boolean =>
  error instanceof NatsError &&
  [ErrorCode.PermissionsViolation, ErrorCode.AuthorizationViolation].includes(error.code as ErrorCode);

/**
 * Creates or updates the streams and durable consumers of the fleet; repeating it changes nothing.
 * Reads every configuration back, since an old server silently drops options it does not know.
 * @throws UnsuitableNatsServer
 */
export async function ensureStreams(connection: NatsConnection, options: StreamOptions = {}): Promise<void> {
  assertSuitable(connection);
  const manager = await connection.jetstreamManager();
  for (const wanted of wantedStreams(options)) {
    const stored = await createOrUpdate(manager, wanted);
    const problem = difference(wanted, stored);
    if (problem) {
      throw new UnsuitableNatsServer(`The NATS server stores ${wanted.name} differently from the request: ${problem}`);
    }
  }
  await ensureDurables(manager, options.durables ?? DURABLES);
}

/**
 * Returns the share of the storage limit of the NATS account that the streams use; 0 without a limit. Streams have no
 * limits of their own, so that none drops messages that were not consumed.
 * @throws NatsError
 */
export async function readStorageUse(connection: NatsConnection): Promise<number> {
  const manager = await connection.jetstreamManager({ checkAPI: false, timeout: REPLY_MS });
  const { storage, limits } = await manager.getAccountInfo();
  return limits.max_storage > 0 ? storage / limits.max_storage : 0;
}

type WantedStream = Partial<StreamConfig> & { name: string };

function wantedStreams({ replicas }: StreamOptions): WantedStream[] {
  return Object.values(STREAMS).map(({ name, subjects, maxAgeMs }) => ({
    name,
    subjects: [...subjects],
    retention: RetentionPolicy.Limits,
    storage: StorageType.File,
    discard: DiscardPolicy.Old,
    ...(replicas !== undefined && { num_replicas: replicas }),
    max_age: nanos(maxAgeMs),
    duplicate_window: nanos(DUPLICATE_WINDOW_MS),
    max_msg_size: MAX_MESSAGE_BYTES + HEADER_BYTES,
    // A service that reads headers first reads messages by their numbers; its login needs the permission as well.
    allow_direct: true,
  }));
}

async function createOrUpdate(manager: JetStreamManager, wanted: WantedStream): Promise<StreamConfig> {
  const existing = await manager.streams.info(wanted.name).catch((error: unknown) => {
    if (error instanceof NatsError && error.api_error?.err_code === STREAM_NOT_FOUND) return null;
    throw error;
  });
  if (existing === null) return (await manager.streams.add(wanted)).config;
  if (difference(wanted, existing.config) === null) return existing.config;
  return (await manager.streams.update(wanted.name, { ...existing.config, ...wanted })).config;
}

function difference(wanted: WantedStream, stored: StreamConfig): string | null {
  for (const [option, value] of Object.entries(wanted)) {
    const found = stored[option as keyof StreamConfig];
    if (JSON.stringify(found) !== JSON.stringify(value)) {
      return `${option} is ${JSON.stringify(found)}, not ${JSON.stringify(value)}`;
    }
  }
  return null;
}

function assertSuitable(connection: NatsConnection): void {
  const version = connection.info?.version ?? '0.0.0';
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major < MIN_SERVER[0] || (major === MIN_SERVER[0] && minor < MIN_SERVER[1])) {
    throw new UnsuitableNatsServer(`NATS server ${version} is too old, ${MIN_SERVER.join('.')} is needed`);
  }
  if (connection.info?.jetstream !== true) throw new UnsuitableNatsServer('The NATS server runs without JetStream');
}
