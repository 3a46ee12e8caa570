import { Injectable } from '@nestjs/common';
import { TenantDatabase, TenantRepository, type Source, type WorkerTransaction } from '@rmm/persistence';
import { NotFoundError } from '@rmm/service-kit';
import { PartnerDirectoryEntry } from './partner-directory-entry.entity.js';

@Injectable()
export class PartnerDirectoryRepository extends TenantRepository<PartnerDirectoryEntry> {
  constructor(tenants: TenantDatabase) {
    super(tenants, PartnerDirectoryEntry, () => new NotFoundError('Partner'));
  }

  /** Returns null for a partner that the caller does not see or that is unknown here. */
  find(source: Source, partnerId: string): Promise<PartnerDirectoryEntry | null> {
    return this.findOne(source, { where: { partnerId } });
  }

  /** Stores an entry unless a newer version is stored. SQL, because TypeORM's upsert takes no condition. */
  async upsert(tx: WorkerTransaction, entry: PartnerDirectoryEntry): Promise<void> {
    await tx.query(
      `INSERT INTO partner_directory (partner_id, name, status, enrollment_max_ttl_minutes, version)
       VALUES (:partnerId, :name, :status, :enrollmentMaxTtlMinutes, :version)
       ON CONFLICT (partner_id) DO UPDATE SET name = excluded.name, status = excluded.status,
         enrollment_max_ttl_minutes = excluded.enrollment_max_ttl_minutes, version = excluded.version
       WHERE partner_directory.version < excluded.version`,
      entry,
    );
  }
}
