import { Injectable } from '@nestjs/common';
import type { OrganizationSource } from '@rmm/access';
import type { ListSinceRequest, OrganizationState } from '@rmm/contracts';
import { NIL_UUID, WorkerDatabase } from '@rmm/persistence';
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

  /** Returns a page, ordered by id, after the last one of the page before. */
  async listSince({ after, limit }: ListSinceRequest): Promise<{
    organizations: OrganizationState[];
    next: string | null;
  }> {
    const rows = await this.worker.query<OrganizationStateRow>(
      `SELECT ${STATE} FROM organization WHERE id > :after::uuid ORDER BY id LIMIT :limit`,
      { after: after ?? NIL_UUID, limit: limit + 1 },
    );
    const page = rows.slice(0, limit);
    const next = rows.length > limit ? (page.at(-1)?.id ?? null) : null;
    return { organizations: page.map(toOrganizationState), next };
  }
}
