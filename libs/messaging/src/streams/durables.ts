import {
  AckPolicy,
  DeliverPolicy,
  nanos,
  NatsError,
  type ConsumerConfig,
  type JetStreamManager,
  type NatsConnection,
} from 'nats';
import { DURABLES, STREAMS, type Durable, type StreamKind } from '@rmm/contracts';
import { subjectMatches, withoutOverlaps } from '../consume/subject-match.js';

/** Time after which a message that was not acknowledged is delivered again, unless its durable says otherwise. */
export const ACK_WAIT_MS = 30_000;
const CONSUMER_NOT_FOUND = 10_014;

/** Returns the time after which a message of a durable consumer that was not acknowledged is delivered again. */
export const ackWaitMsOf = (durable: string): number =>
  DURABLES.find(({ name }) => name === durable)?.ackWaitMs ?? ACK_WAIT_MS;

/** The durable consumer that a handler reads, and the subjects it handles. */
export interface WantedDurable {
  stream: StreamKind;
  durable: string;
  subjects: readonly string[];
  /** True when it must deliver headers only; otherwise it must deliver whole messages. */
  headersOnly?: boolean;
}

/**
 * Creates or updates durable consumers; repeating it changes nothing. Needs the login of the administrator.
 *
 * `max_deliver` is unlimited: the server drops a message it gives up on, and only the service can store it as a dead
 * letter.
 */
export async function ensureDurables(manager: JetStreamManager, durables: readonly Durable[]): Promise<void> {
  for (const { name, stream, subjects, maxAckPending, ackWaitMs = ACK_WAIT_MS, headersOnly = false } of durables) {
    const settings = {
      filter_subjects: withoutOverlaps(subjects),
      ack_wait: nanos(ackWaitMs),
      max_ack_pending: maxAckPending,
      max_deliver: -1,
      headers_only: headersOnly,
    };
    const streamName = STREAMS[stream].name;
    const existing = await findConfig(manager, streamName, name);
    if (!existing) {
      await manager.consumers.add(streamName, {
        durable_name: name,
        ack_policy: AckPolicy.Explicit,
        deliver_policy: DeliverPolicy.All,
        ...settings,
      });
    } else if (existing.deliver_subject !== undefined) {
      throw new Error(`The consumer ${name} pushes its messages to ${existing.deliver_subject}: delete it`);
    } else await manager.consumers.update(streamName, name, settings);
  }
}

/**
 * Checks that a durable consumer exists, is read by pulling and delivers every subject that is handled as it is read.
 * @throws Error  naming what is missing; NatsError
 */
export async function assertDurable(
  connection: NatsConnection,
  { stream, durable, subjects, headersOnly = false }: WantedDurable,
): Promise<void> {
  const manager = await connection.jetstreamManager({ checkAPI: false });
  const config = await findConfig(manager, STREAMS[stream].name, durable);
  if (!config) throw new Error(`the consumer ${durable} is missing: run setup-streams`);
  if (config.deliver_subject !== undefined) throw new Error(`the consumer ${durable} is a push consumer: delete it`);
  if ((config.headers_only ?? false) !== headersOnly) {
    throw new Error(
      `the consumer ${durable} delivers ${headersOnly ? 'whole messages' : 'headers only'}: run setup-streams`,
    );
  }
  const missing = uncovered(config.filter_subjects ?? [config.filter_subject ?? '>'], subjects);
  if (missing.length > 0) {
    throw new Error(`the consumer ${durable} does not deliver ${missing.join(', ')}: run setup-streams`);
  }
}

/** Returns the subjects that no filter includes. */
export const uncovered = (filters: readonly string[], subjects: readonly string[]): string[] =>
  subjects.filter((subject) => !filters.some((filter) => subjectMatches(filter, subject)));

async function findConfig(manager: JetStreamManager, stream: string, durable: string): Promise<ConsumerConfig | null> {
  try {
    return (await manager.consumers.info(stream, durable)).config;
  } catch (error) {
    if (error instanceof NatsError && error.api_error?.err_code === CONSUMER_NOT_FOUND) return null;
    throw error;
  }
}
