import { Logger } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import { ErrorCode, NatsError } from 'nats';
import type { NatsLink } from '../connection/nats-link.js';
import { ensureStreams, UnsuitableNatsServer, verifyStreams } from './ensure-streams.js';

/**
 * At the start of a service: makes the streams where its login may, else waits until somebody has made them.
 * @throws UnsuitableNatsServer, or the last error once `withinMs` has passed
 */
export async function prepareStreams(link: NatsLink, withinMs: number): Promise<void> {
  const deadline = performance.now() + withinMs;
  for (let attempt = 1; ; attempt++) {
    try {
      return await ensureOrVerify(link);
    } catch (error) {
      if (error instanceof UnsuitableNatsServer || performance.now() > deadline) throw error;
      if (attempt === 1) {
        new Logger('NATS').warn(`The streams are not ready (setup-streams makes them): ${(error as Error).message}`);
      }
      await sleep(500);
    }
  }
}

async function ensureOrVerify(link: NatsLink): Promise<void> {
  try {
    await ensureStreams(link.connection);
  } catch (error) {
    if (!isForbidden(error)) throw error;
    await verifyStreams(link.connection);
  }
}

const isForbidden = (error: unknown): boolean =>
  error instanceof NatsError &&
  [ErrorCode.PermissionsViolation, ErrorCode.AuthorizationViolation].includes(error.code as ErrorCode);
