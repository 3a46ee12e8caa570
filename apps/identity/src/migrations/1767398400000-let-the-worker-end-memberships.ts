import { workerMay, workerMayNot } from '@rmm/persistence';
import type { MigrationInterface, QueryRunner } from 'typeorm';

const TABLES = ['partner_membership', 'organization_membership'] as const;

/**
 * Off-boarding is one transaction over the membership (a tenant's) and the sessions (the person's own, which no tenant
 * may touch): it runs under the worker login, bound to the tenant by its conditions.
 */
export class LetTheWorkerEndMemberships1767398400000 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    for (const table of TABLES) await workerMay(q, table, ['update', 'delete']);
  }

  async down(q: QueryRunner): Promise<void> {
    for (const table of TABLES) await workerMayNot(q, table, ['update', 'delete']);
  }
}
