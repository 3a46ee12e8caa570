import { Injectable } from '@nestjs/common';
import type { PartnerState, PartnerStatus } from '@rmm/contracts';
import type { SqlExecutor, WorkerTransaction } from '@rmm/persistence';

/** What provisioning knows of a partner. */
export interface KnownPartner {
  id: string;
  name: string;
  status: PartnerStatus;
  /** Null means no cap. */
  maxOrganizations: number | null;
  maxDevices: number | null;
  timezone: string;
}

const COLUMNS = `id, name, status, max_organizations as "maxOrganizations", max_devices as "maxDevices", timezone`;

const UPSERT = `
  insert into partner (id, name, slug, status, max_organizations, max_devices, timezone, version)
  values ($1, $2, $3, $4, $5, $6, $7, $8)
  on conflict (id) do update set
    name = excluded.name, slug = excluded.slug, status = excluded.status, max_organizations = excluded.max_organizations,
    max_devices = excluded.max_devices, timezone = excluded.timezone, version = excluded.version, updated_at = now()
  where partner.version < excluded.version`;

/** The projection of identity's partners. */
@Injectable()
export class PartnersRepository {
  /** Null for a partner of which no fact has arrived, or that the transaction may not see. */
  async find(tx: SqlExecutor, partnerId: string): Promise<KnownPartner | null> {
    const [partner] = await tx.query<KnownPartner>(`select ${COLUMNS} from partner where id = $1`, [partnerId]);
    return partner ?? null;
  }

  /** Keeps the newest fact; an older one changes nothing. */
  async project(tx: WorkerTransaction, fact: PartnerState): Promise<void> {
    const { partnerId, name, slug, status, maxOrganizations, maxDevices, timezone, version } = fact;
    await tx.query(UPSERT, [partnerId, name, slug, status, maxOrganizations, maxDevices, timezone, version]);
  }
}
