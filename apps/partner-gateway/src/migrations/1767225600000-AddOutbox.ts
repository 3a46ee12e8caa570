import { dropMessagingTables, messagingTables } from '@rmm/messaging';
import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Audit rows leave through an outbox; this service keeps nothing else. */
export class AddOutbox1767225600000 implements MigrationInterface {
  name = 'AddOutbox1767225600000';

  async up(q: QueryRunner): Promise<void> {
    await messagingTables(q);
  }

  async down(q: QueryRunner): Promise<void> {
    await dropMessagingTables(q);
  }
}
