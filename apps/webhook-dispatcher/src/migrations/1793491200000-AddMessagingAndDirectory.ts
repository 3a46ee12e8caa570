import { dropOrganizationDirectoryTable, organizationDirectoryTable } from '@rmm/access';
import { dropMessagingTables, messagingTables } from '@rmm/messaging';
import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Outbox, inbox and parked messages; which organization belongs to which partner. */
export class AddMessagingAndDirectory1793491200000 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    await messagingTables(q);
    await organizationDirectoryTable(q);
  }

  async down(q: QueryRunner): Promise<void> {
    await dropOrganizationDirectoryTable(q);
    await dropMessagingTables(q);
  }
}
