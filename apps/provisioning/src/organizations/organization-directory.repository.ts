import { Injectable } from '@nestjs/common';
import type { OrganizationSource } from '@rmm/access';
import type { ListSinceRequest, OrganizationState } from '@rmm/contracts';
import { WorkerDatabase } from '@rmm/persistence';
import { BadRequestError } from '@rmm/service-kit';
import { toOrganizationState, type OrganizationStateRow } from './organization.events.js';

const MAX_IDS = 1_000;
const STATE = `id, partner_id AS "partnerId", name, slug, status, deleted_at AS "deletedAt", version`;

/** Organizations across tenants, for the directories of all services. Uses the worker login: there is no caller. */
@Injectable()
export class OrganizationDirectoryRepository implements OrganizationSource {
  constructor(private readonly worker: WorkerDatabase) {}

  /** Returns the organizations that exist, soft-deleted ones included. @throws BadRequestError  for too many ids */
  async get(orgIds: readonly string[]): Promise<OrganizationState[]> {
    if (orgIds.length > MAX_IDS) throw new BadRequestError(`At most ${MAX_IDS} organizations at a time`);
    const rows = await this.worker.query<OrganizationStateRow>(
      `SELECT ${STATE} FROM organization WHERE id = ANY (:orgIds::uuid[])`,
      { orgIds },
    );
    return rows.map(toOrganizationState);
  }

  /** Returns a page, oldest first, after the creation time and id of the last row of the page before. */
  async listSince({ after, limit }: ListSinceRequest): Promise<{
    organizations: OrganizationState[];
    next: string | null;
  }> {
    const rows = await this.worker.query<OrganizationStateRow & { createdAt: Date }>(
      `SELECT ${STATE}, created_at AS "createdAt" FROM organization
        WHERE :createdAt::timestamptz IS NULL OR (created_at, id) > (:createdAt::timestamptz, :id::uuid)
        ORDER BY created_at, id LIMIT :limit`,
      { ...readPosition(after), limit: limit + 1 },
    );
    const page = rows.slice(0, limit);
    const last = page.at(-1);
    const next = rows.length > limit && last ? `${last.createdAt.toISOString()}_${last.id}` : null;
    return { organizations: page.map(toOrganizationState), next };
  }
}

/** @throws BadRequestError */
function readPosition(after: string | null): { createdAt: string | null; id: string | null } {
  if (after === null) return { createdAt: null, id: null };
  const [createdAt, id] = after.split('_');
  if (!id || Number.isNaN(Date.parse(createdAt))) throw new BadRequestError('Unknown position');
  return { createdAt, id };
}
