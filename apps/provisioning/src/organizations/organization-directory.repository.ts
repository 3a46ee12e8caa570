import type { OrganizationSource } from '@rmm/access';
import { Injectable } from '@nestjs/common';
import type { ListSinceRequest, OrganizationState } from '@rmm/contracts';
import { WorkerDatabase } from '@rmm/persistence';
import { BadRequestError } from '@rmm/service-kit';
import { FACT_COLUMNS, toOrganizationFact, type OrganizationRow } from './organization-facts.js';

const MAX_IDS = 1_000;

/** Organizations across tenants, for the directories of other services and for this one's guard. */
@Injectable()
export class OrganizationDirectoryRepository implements OrganizationSource {
  constructor(private readonly worker: WorkerDatabase) {}

  /** Those that exist, soft-deleted ones included. */
  async get(orgIds: readonly string[]): Promise<OrganizationState[]> {
    if (orgIds.length > MAX_IDS) throw new BadRequestError(`At most ${MAX_IDS} organizations at a time`);
    const rows = await this.worker.query<OrganizationRow>(
      `select ${FACT_COLUMNS} from organization where id = any ($1::uuid[])`,
      [orgIds],
    );
    return rows.map(toOrganizationFact);
  }

  /** Oldest first; the position is the last row's creation time and id. New organizations stand at the end. */
  async listSince({
    after,
    limit,
  }: ListSinceRequest): Promise<{ organizations: OrganizationState[]; next: string | null }> {
    const size = Math.min(Math.max(limit, 1), 1_000);
    const rows = await this.worker.query<OrganizationRow & { createdAt: Date }>(
      `select ${FACT_COLUMNS}, created_at as "createdAt" from organization
        where $1::timestamptz is null or (created_at, id) > ($1::timestamptz, $2::uuid)
        order by created_at, id limit $3`,
      [...positionOf(after), size + 1],
    );
    const page = rows.slice(0, size);
    const last = page.at(-1);
    const next = rows.length > size && last ? `${last.createdAt.toISOString()}_${last.id}` : null;
    return { organizations: page.map(toOrganizationFact), next };
  }
}

function positionOf(after: string | null): [string | null, string | null] {
  if (after === null) return [null, null];
  const [createdAt, id] = after.split('_');
  if (!id || Number.isNaN(Date.parse(createdAt))) throw new BadRequestError('Unknown position');
  return [createdAt, id];
}
