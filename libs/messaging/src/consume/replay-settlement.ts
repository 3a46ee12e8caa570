import type { Envelope } from '@rmm/contracts';
import { decodeEnvelope } from '../envelope/decode-envelope.js';
import { MessageRejected } from '../messaging.errors.js';

/** Settles a dead letter that is handled again; all but the first call are ignored. */
export interface ReplaySettlement {
  /** Resolves when the message is acknowledged, rejects when it is settled in any other way. */
  settled: Promise<void>;
  ack: () => void;
  nak: (error?: unknown) => void;
  release: () => void;
  term: (reason: string) => void;
}

/** Returns the envelope of a dead letter. @throws MessageRejected */
export function openDeadLetter(subject: string, payload: string): Envelope {
  const decoded = decodeEnvelope(subject, payload);
  if (!decoded.ok) throw new MessageRejected(decoded.reason);
  return decoded.envelope;
}

export function createReplaySettlement(): ReplaySettlement {
  let ack: () => void = () => undefined;
  let reject: (error: Error) => void = () => undefined;
  const settled = new Promise<void>((resolve, rejectIt) => ([ack, reject] = [resolve, rejectIt]));
  // A handler that settles the message and then throws is reported by its own error.
  settled.catch(() => undefined);
  const fail = (reason: unknown): void => reject(reason instanceof Error ? reason : new Error(String(reason)));
  return {
    settled,
    ack,
    nak: (error = 'not handled') => fail(error),
    release: () => fail('the message was released'),
    term: fail,
  };
}
