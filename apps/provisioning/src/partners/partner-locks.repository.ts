import { Injectable } from '@nestjs/common';
import type { TenantTransaction, WorkerTransaction } from '@rmm/persistence';

/** Locks that serialize the writers of one partner. Each ends with its transaction. */
@Injectable()
export class PartnerLocksRepository {
  /**
   * Serializes the transactions that add organizations to a partner, so that each checks caps and slugs against the
   * organizations of the others.
   */
  lockOrganizations(tx: TenantTransaction | WorkerTransaction, partnerId: string): Promise<void> {
    return this.lock(tx, `rmm.provisioning.organizations.${partnerId}`);
  }

  /** Serializes the transactions that add devices to a partner with a cap. */
  lockDevices(tx: TenantTransaction, partnerId: string): Promise<void> {
    return this.lock(tx, `rmm.provisioning.devices.${partnerId}`);
  }

  private async lock(tx: TenantTransaction | WorkerTransaction, name: string): Promise<void> {
    await tx.query('SELECT pg_advisory_xact_lock(hashtextextended(:name, 0))', { name });
  }
}
