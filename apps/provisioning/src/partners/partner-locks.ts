import type { SqlExecutor } from '@rmm/persistence';

/**
 * One writer at a time adds organizations to a partner, so that caps and slugs are judged on what the others left.
 * Held to the end of the transaction.
 */
export async function lockOrganizations(tx: SqlExecutor, partnerId: string): Promise<void> {
  await tx.query(`select pg_advisory_xact_lock(hashtextextended('rmm.provisioning.organizations.' || $1, 0))`, [
    partnerId,
  ]);
}

/** The same for devices, taken only where a partner has a cap. */
export async function lockDevices(tx: SqlExecutor, partnerId: string): Promise<void> {
  await tx.query(`select pg_advisory_xact_lock(hashtextextended('rmm.provisioning.devices.' || $1, 0))`, [partnerId]);
}
