import { dropMessagingTables, messagingTables } from '@rmm/messaging';
import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Outbox, inbox and parked messages. */
export class AddMessaging1767225599000 implements MigrationInterface {
  up(q: QueryRunner): Promise<void> {
    return messagingTables(q);
  }

  down(q: QueryRunner): Promise<void> {
    return dropMessagingTables(q);
  }
}
