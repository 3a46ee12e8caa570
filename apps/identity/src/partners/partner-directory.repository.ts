import { Injectable } from '@nestjs/common';
import type { PartnersSince, PartnersSinceRequest, PartnerState } from '@rmm/contracts';
import { WorkerDatabase } from '@rmm/persistence';
import { toPartnerState, type PartnerStateRow } from './partner.mapper.js';

/** Columns of the state; of the settings only what other services need. */
const STATE = `id, name, slug, status, max_organizations AS "maxOrganizations", max_devices AS "maxDevices", timezone,
  jsonb_build_object('enrollment', settings -> 'enrollment') AS settings, version`;

/** Partners across tenants, for the directories of all services. Uses the worker login: there is no caller. */
@Injectable()
export class PartnerDirectoryRepository {
  constructor(private readonly worker: WorkerDatabase) {}

  /** Returns the partners that exist. */
  async get(partnerIds: readonly string[]): Promise<PartnerState[]> {
    const rows = await this.worker.query<PartnerStateRow>(
      `SELECT ${STATE} FROM partner WHERE id = ANY (:partnerIds::uuid[])`,
      { partnerIds },
    );
    return rows.map(toPartnerState);
  }

  /** Returns a page, ordered by id, after the last one of the page before. */
  async listSince({ after, limit }: PartnersSinceRequest): Promise<PartnersSince> {
    const rows = await this.worker.query<PartnerStateRow>(
      `SELECT ${STATE} FROM partner WHERE :after::uuid IS NULL OR id > :after::uuid ORDER BY id LIMIT :limit`,
      { after, limit: limit + 1 },
    );
    const page = rows.slice(0, limit);
    return { partners: page.map(toPartnerState), next: rows.length > limit ? (page.at(-1)?.id ?? null) : null };
  }
}
