import { Injectable } from '@nestjs/common';
import type { TenantTransaction, WorkerTransaction } from '@rmm/persistence';
import type { PartnerCount } from './partner-count.entity.js';

type PartnerCounts = Pick<PartnerCount, 'organizations' | 'devices'>;

/** The lock that serializes the transactions that add organizations to a partner. */
export const organizationsLock = (partnerId: string): string => `rmm.provisioning.organizations.${partnerId}`;

/** Counters of partners, and the locks that serialize the writers of one partner. */
@Injectable()
export class PartnersRepository {
  /**
   * Serializes the transactions that add organizations to a partner, so that each checks caps and slugs against the
   * organizations of the others. The lock ends with the transaction, which keeps its connection while it waits: requests
   * use `lockedTransaction` instead.
   */
  lockOrganizations(tx: TenantTransaction | WorkerTransaction, partnerId: string): Promise<void> {
    return this.lock(tx, organizationsLock(partnerId));
  }

  /** Returns the number of live organizations of a partner, from its counter. */
  async countOrganizations(tx: TenantTransaction, partnerId: string): Promise<number> {
    return (await this.findCounts(tx, partnerId))?.organizations ?? 0;
  }

  /** Returns the number of devices of a partner without decommissioned ones, from its counter. */
  async countDevices(tx: TenantTransaction, partnerId: string): Promise<number> {
    return (await this.findCounts(tx, partnerId))?.devices ?? 0;
  }

  private async findCounts(tx: TenantTransaction, partnerId: string): Promise<PartnerCounts | undefined> {
    const [counts] = await tx.query<PartnerCounts>(
      'SELECT organizations, devices FROM partner_count WHERE partner_id = :partnerId',
      { partnerId },
    );
    return counts;
  }

  private async lock(tx: TenantTransaction | WorkerTransaction, name: string): Promise<void> {
    await tx.query('SELECT pg_advisory_xact_lock(hashtextextended(:name, 0))', { name });
  }
}
