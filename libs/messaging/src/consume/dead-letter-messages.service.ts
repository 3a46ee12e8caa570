import { Injectable } from '@nestjs/common';
import type { ReplayDeadLettersReply, ReplayDeadLettersRequest } from '@rmm/contracts';
import { DeadLetterMessagesRepository, type DeadLetterMessage } from './dead-letter-messages.repository.js';

/** Handles one dead letter again; registered by the consumer that stored it. */
export type ReplayHandler = (subject: string, payload: string) => Promise<void>;

/** Stores the messages whose deliveries are used up, and replays them. */
@Injectable()
export class DeadLetterMessagesService {
  private readonly handlers = new Map<string, ReplayHandler>();

  constructor(private readonly repository: DeadLetterMessagesRepository) {}

  /** @param consumer  the durable consumer whose messages `handler` understands */
  register(consumer: string, handler: ReplayHandler): void {
    this.handlers.set(consumer, handler);
  }

  store(message: Omit<DeadLetterMessage, 'id' | 'failedAt'>): Promise<void> {
    return this.repository.save(message);
  }

  /**
   * Handles dead letters again in the order they failed. A success deletes the row; a failure stores its new reason.
   * Effects applied through the inbox still happen once.
   */
  async replay({ consumer, limit = 1_000 }: ReplayDeadLettersRequest = {}): Promise<ReplayDeadLettersReply> {
    let [replayed, failed] = [0, 0];
    for (const message of await this.repository.list({ consumer, limit })) {
      if (await this.replayOne(message)) replayed += 1;
      else failed += 1;
    }
    return { replayed, failed, left: await this.repository.count() };
  }

  private async replayOne(message: DeadLetterMessage): Promise<boolean> {
    try {
      const handler = this.handlers.get(message.consumer);
      if (!handler) throw new Error(`No consumer ${message.consumer} in this service`);
      await handler(message.subject, message.payload);
      await this.repository.delete(message.id);
      return true;
    } catch (error) {
      await this.repository.save({ ...message, reason: describeReason(error), deliveries: 1 });
      return false;
    }
  }
}

/** Returns class and text of an error for the operator; never a stack. */
export const describeReason = (error: unknown): string =>
  error instanceof Error ? `${error.name}: ${error.message}` : String(error);
