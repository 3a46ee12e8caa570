import { DUPLICATE_WINDOW_MS, MAX_MESSAGE_BYTES, STREAMS } from '@rmm/contracts';
import {
  DiscardPolicy,
  nanos,
  NatsError,
  RetentionPolicy,
  StorageType,
  type JetStreamManager,
  type NatsConnection,
  type StreamConfig,
} from 'nats';

/** The oldest server whose JetStream does what we use: several filter subjects on one consumer came with 2.10. */
const MIN_SERVER = [2, 10] as const;
const STREAM_NOT_FOUND = 10_059;
/** The server counts headers too: room for the message id. */
const HEADER_ROOM_BYTES = 1_024;

export interface StreamOptions {
  /** Copies of each message in a cluster. */
  replicas?: number;
}

/** The server is too old, has no JetStream, or keeps a stream otherwise than asked. */
export class UnsuitableNatsServer extends Error {
  override name = 'UnsuitableNatsServer';
}

/**
 * Makes the fleet's streams what they should be; doing it again changes nothing.
 * Reads every configuration back, since an old server drops options it does not know without a word.
 * @throws UnsuitableNatsServer
 */
export async function ensureStreams(connection: NatsConnection, options: StreamOptions = {}): Promise<void> {
  assertSuitable(connection);
  const manager = await connection.jetstreamManager();
  for (const wanted of wantedStreams(options)) {
    const kept = await createOrUpdate(manager, wanted);
    const problem = difference(wanted, kept);
    if (problem)
      throw new UnsuitableNatsServer(`The NATS server keeps ${wanted.name} otherwise than asked: ${problem}`);
  }
}

/** For logins that may not create streams: are they there? @throws UnsuitableNatsServer, NatsError */
export async function verifyStreams(connection: NatsConnection): Promise<void> {
  assertSuitable(connection);
  const manager = await connection.jetstreamManager();
  for (const { name } of Object.values(STREAMS)) await manager.streams.info(name);
}

type WantedStream = Partial<StreamConfig> & { name: string };

function wantedStreams({ replicas = 1 }: StreamOptions): WantedStream[] {
  return Object.values(STREAMS).map(({ name, subjects, maxAgeMs }) => ({
    name,
    subjects: [...subjects],
    retention: RetentionPolicy.Limits,
    storage: StorageType.File,
    discard: DiscardPolicy.Old,
    num_replicas: replicas,
    max_age: nanos(maxAgeMs),
    duplicate_window: nanos(DUPLICATE_WINDOW_MS),
    max_msg_size: MAX_MESSAGE_BYTES + HEADER_ROOM_BYTES,
  }));
}

async function createOrUpdate(manager: JetStreamManager, wanted: WantedStream): Promise<StreamConfig> {
  const existing = await manager.streams.info(wanted.name).catch((error: unknown) => {
    if (error instanceof NatsError && error.api_error?.err_code === STREAM_NOT_FOUND) return null;
    throw error;
  });
  if (existing === null) return (await manager.streams.add(wanted)).config;
  if (difference(wanted, existing.config) === null) return existing.config;
  return (await manager.streams.update(wanted.name, wanted)).config;
}

function difference(wanted: WantedStream, kept: StreamConfig): string | null {
  for (const [option, value] of Object.entries(wanted)) {
    const found = kept[option as keyof StreamConfig];
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
