import { Injectable } from '@nestjs/common';
import type { PartnerState } from '@rmm/contracts';
import { TenantDatabase, TenantRepository, type TenantTransaction, type WorkerTransaction } from '@rmm/persistence';
import { NotFoundError } from '@rmm/service-kit';
import { Partner } from './partner.entity.js';

/** SQL for the comparison of versions in ON CONFLICT. */
const UPSERT = `
  INSERT INTO partner (id, name, slug, status, max_organizations, max_devices, timezone, version)
  VALUES (:partnerId, :name, :slug, :status, :maxOrganizations, :maxDevices, :timezone, :version)
  ON CONFLICT (id) DO UPDATE SET
    name = excluded.name, slug = excluded.slug, status = excluded.status,
    max_organizations = excluded.max_organizations, max_devices = excluded.max_devices,
    timezone = excluded.timezone, version = excluded.version, updated_at = now()
  WHERE partner.version < excluded.version`;

interface PartnerCounts {
  organizations: number;
  devices: number;
}

/** Copies of the partners of identity, and the locks that serialize writers of one partner. */
@Injectable()
export class PartnersRepository extends TenantRepository<Partner> {
  constructor(tenants: TenantDatabase) {
    super(tenants, Partner, () => new NotFoundError('Partner'));
  }

  /** Returns null for a partner whose event has not arrived yet, and for one that the caller may not see. */
  find(tx: TenantTransaction | WorkerTransaction, id: string): Promise<Partner | null> {
    return this.findOne(tx, { where: { id } });
  }

  /** Stores the state of an event unless a newer one is stored. */
  async save(tx: WorkerTransaction, { partnerId, version, ...state }: PartnerState): Promise<void> {
    const { name, slug, status, maxOrganizations, maxDevices, timezone } = state;
    await tx.query(UPSERT, { partnerId, version, name, slug, status, maxOrganizations, maxDevices, timezone });
  }

  /**
   * Serializes the transactions that add organizations to a partner, so that each checks caps and slugs against the
   * organizations of the others. The lock ends with the transaction.
   */
  lockOrganizations(tx: TenantTransaction | WorkerTransaction, partnerId: string): Promise<void> {
    return this.lock(tx, `rmm.provisioning.organizations.${partnerId}`);
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
