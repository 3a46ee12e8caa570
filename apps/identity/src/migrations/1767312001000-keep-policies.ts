import { workerMay, workerMayNot } from '@rmm/persistence';
import type { MigrationInterface, QueryRunner } from 'typeorm';

/** A policy is judged over all members of a partner and their factors, so the worker stores the partner's as well. */
export class KeepPolicies1767312001000 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    await workerMay(q, 'partner', ['update']);
  }

  async down(q: QueryRunner): Promise<void> {
    await workerMayNot(q, 'partner', ['update']);
  }
}
