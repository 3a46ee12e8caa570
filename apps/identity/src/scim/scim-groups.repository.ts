import { Injectable } from '@nestjs/common';
import type { ScimCaller } from '@rmm/access';
import {
  TenantDatabase,
  TenantRepository,
  type Source,
  type SqlExecutor,
  type Values,
  type WorkerTransaction,
} from '@rmm/persistence';
import type { FilterCondition } from './scim-filter.js';
import { ScimGroup } from './scim-group.entity.js';
import type { ScimPage } from './scim-query.js';
import { ownerOf, valuesOf } from './scim-users.repository.js';
import { ScimGroupNotFound } from './scim.errors.js';

export type GroupFilter = 'id' | 'displayName' | 'externalId' | 'member';

/** A user of a group, as the group's resource lists it. */
export interface MemberOfGroup {
  groupId: string;
  id: string;
  display: string;
}

const FILTERS: Readonly<Record<GroupFilter, string>> = {
  id: 'g.id::text = lower(:id)',
  displayName: 'lower(g.display_name) = lower(:displayName)',
  externalId: 'g.external_id = :externalId',
  member: `EXISTS (SELECT FROM scim_group_member m WHERE m.group_id = g.id AND m.scim_user_id::text = lower(:member))`,
};

const COLUMNS = `g.id, g.partner_id AS "partnerId", g.org_id AS "orgId", g.provider_id AS "providerId",
  g.display_name AS "displayName", g.external_id AS "externalId", g.created_at AS "createdAt",
  g.updated_at AS "updatedAt"`;

/** Groups of SCIM and their users; reads run as the client's organization, writes under the worker login. */
@Injectable()
export class ScimGroupsRepository extends TenantRepository<ScimGroup> {
  constructor(tenants: TenantDatabase) {
    super(tenants, ScimGroup, () => new ScimGroupNotFound());
  }

  /** Lists groups of a provider, oldest first, with the exact number of all that match: SCIM pages by the index of a row, not by page. */
  async list(
    caller: ScimCaller,
    conditions: readonly FilterCondition<GroupFilter>[],
    { offset, limit }: ScimPage,
  ): Promise<{ rows: ScimGroup[]; total: number }> {
    const filters = [...new Set(conditions.map(({ attribute }) => FILTERS[attribute]))];
    const where = ['g.partner_id = :partnerId AND g.org_id = :orgId AND g.provider_id = :providerId', ...filters].join(
      ' AND ',
    );
    const params = { ...ownerOf(caller), ...valuesOf(conditions) };
    const [rows = [], [counted] = []] = await this.tenants.readAll(caller, [
      {
        sql: `SELECT ${COLUMNS} FROM scim_group g WHERE ${where} ORDER BY g.created_at, g.id LIMIT :limit OFFSET :offset`,
        params: { ...params, limit, offset },
      },
      { sql: `SELECT count(*)::integer AS total FROM scim_group g WHERE ${where}`, params },
    ]);
    return { rows: rows as unknown as ScimGroup[], total: Number(counted?.['total'] ?? 0) };
  }

  /** @throws ScimGroupNotFound also for a group of another provider */
  get(source: Source, caller: ScimCaller, id: string): Promise<ScimGroup> {
    return this.getOne(source, { where: { id, ...ownerOf(caller) } });
  }

  /** Locks a group until the transaction ends. @throws ScimGroupNotFound */
  lock(tx: WorkerTransaction, caller: ScimCaller, id: string): Promise<ScimGroup> {
    return this.getOne(tx, { where: { id, ...ownerOf(caller) }, lock: 'FOR UPDATE' });
  }

  /** @throws a unique violation when the provider has a group of that name or external id */
  create(tx: WorkerTransaction, values: Values<ScimGroup>): Promise<ScimGroup> {
    return this.insert(tx, values);
  }

  /** @throws a unique violation, as `create` does */
  change(tx: WorkerTransaction, id: string, values: Values<ScimGroup>): Promise<ScimGroup> {
    return this.updateOne(tx, { id }, { ...values, updatedAt: () => 'now()' });
  }

  async remove(tx: WorkerTransaction, id: string): Promise<void> {
    await this.delete(tx, { id });
  }

  /** Lists the users of groups, group after group, each in the order of their ids. */
  listMembers(caller: ScimCaller, groupIds: readonly string[], limit: number): Promise<MemberOfGroup[]> {
    return this.tenants.read<MemberOfGroup>(
      caller,
      `SELECT m.group_id AS "groupId", u.id, u.user_name AS display
       FROM scim_group_member m JOIN scim_user u ON u.id = m.scim_user_id
       WHERE m.org_id = :orgId AND m.partner_id = :partnerId AND m.group_id = ANY (:groupIds::uuid[])
       ORDER BY array_position(:groupIds::uuid[], m.group_id), u.id LIMIT :limit`,
      { orgId: caller.orgId, partnerId: caller.partnerId, groupIds, limit },
    );
  }

  async listMemberIds(tx: SqlExecutor, groupId: string): Promise<string[]> {
    const rows = await tx.query<{ id: string }>(
      'SELECT scim_user_id AS id FROM scim_group_member WHERE group_id = :groupId',
      { groupId },
    );
    return rows.map(({ id }) => id);
  }

  /** Adds users of the same provider; others are left out. @returns how many of them exist */
  async addMembers(tx: SqlExecutor, group: ScimGroup, ids: readonly string[]): Promise<number> {
    const [counted] = await tx.query<{ known: number }>(
      `WITH known AS (
         SELECT u.id FROM scim_user u
         WHERE u.org_id = :orgId AND u.partner_id = :partnerId AND u.provider_id = :providerId
           AND u.id = ANY (:ids::uuid[])),
       added AS (
         INSERT INTO scim_group_member (group_id, scim_user_id, partner_id, org_id)
         SELECT :groupId, known.id, :partnerId, :orgId FROM known ON CONFLICT DO NOTHING)
       SELECT count(*)::integer AS known FROM known`,
      { ...ownerOf(group), groupId: group.id, ids },
    );
    return counted?.known ?? 0;
  }

  async removeMembers(tx: SqlExecutor, groupId: string, ids: readonly string[]): Promise<void> {
    await tx.query('DELETE FROM scim_group_member WHERE group_id = :groupId AND scim_user_id = ANY (:ids::uuid[])', {
      groupId,
      ids,
    });
  }

  /** Lists the names of a user's groups, in alphabetical order. */
  async listNamesOf(tx: SqlExecutor, scimUserId: string): Promise<string[]> {
    const rows = await tx.query<{ name: string }>(
      `SELECT g.display_name AS name FROM scim_group_member m JOIN scim_group g ON g.id = m.group_id
       WHERE m.scim_user_id = :scimUserId ORDER BY lower(g.display_name), g.id`,
      { scimUserId },
    );
    return rows.map(({ name }) => name);
  }
}
