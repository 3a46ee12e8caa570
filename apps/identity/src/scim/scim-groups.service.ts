import { Inject, Injectable } from '@nestjs/common';
import type { ScimCaller } from '@rmm/access';
import { AuditTrail } from '@rmm/messaging';
import { isUniqueViolation, WorkerDatabase, type WorkerTransaction } from '@rmm/persistence';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import type { SsoProvider } from '../sso/sso-provider.entity.js';
import { SsoProvidersRepository } from '../sso/sso-providers.repository.js';
import type { ScimGroupDto, ScimGroupListDto } from './dto/scim-resource.dto.js';
import { patchGroup, readGroup, tooManyMembers, type GroupAttributes } from './group-patch.js';
import { readFilter, type FilterAttributes } from './scim-filter.js';
import type { ScimGroup } from './scim-group.entity.js';
import { ScimGroupsRepository, type GroupFilter } from './scim-groups.repository.js';
import { ScimMembershipsService } from './scim-memberships.service.js';
import { isRequested, pageOf, project, type ScimAttributesDto, type ScimListDto } from './scim-query.js';
import { scimBaseUrl, toListResponse, toScimGroup } from './scim-resource.mapper.js';
import { ScimUsersRepository } from './scim-users.repository.js';
import { MAX_GROUP_MEMBERS } from './scim.config.js';
import { ScimBadRequest, ScimConflict, ScimGroupNotFound } from './scim.errors.js';

const FILTERS: FilterAttributes<GroupFilter> = {
  id: 'id',
  displayname: 'displayName',
  externalid: 'externalId',
  members: 'member',
  'members.value': 'member',
};
/** Users whose roles change with the request; those of more change in the background. */
const MAX_APPLIED = 100;

/** Groups of an organization's identity provider, which give roles. @see docs/reference/scim.md */
@Injectable()
export class ScimGroupsService {
  constructor(
    private readonly worker: WorkerDatabase,
    private readonly groups: ScimGroupsRepository,
    private readonly users: ScimUsersRepository,
    private readonly providers: SsoProvidersRepository,
    private readonly memberships: ScimMembershipsService,
    private readonly audit: AuditTrail,
    @Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig,
  ) {}

  /** A page ends early when its groups have too many users. */
  async list(caller: ScimCaller, query: ScimListDto): Promise<ScimGroupListDto> {
    const page = pageOf(query);
    const { rows, total } = await this.groups.list(caller, readFilter(query.filter, FILTERS), page);
    return toListResponse(await this.toResources(caller, rows, query), { total, offset: page.offset });
  }

  /** @throws ScimGroupNotFound also for a group of another provider */
  async get(caller: ScimCaller, id: string, query: ScimAttributesDto): Promise<ScimGroupDto> {
    return this.toResource(caller, await this.groups.get(caller, caller, id), query);
  }

  /** @throws ScimBadRequest, ScimConflict, ScimRoleNotGrantable */
  async create(caller: ScimCaller, body: unknown, query: ScimAttributesDto): Promise<ScimGroupDto> {
    const { members, ...attributes } = readGroup(body);
    const group = await this.write(async (tx) => {
      const provider = await this.lockProvider(tx, caller);
      const { providerId, partnerId, orgId } = caller;
      const row = await this.groups.create(tx, { ...attributes, providerId, partnerId, orgId });
      await this.addMembers(tx, row, members);
      await this.applyRoles(tx, caller, provider, members);
      await this.record(tx, caller, 'scim.group.create', row, { members: members.length });
      return row;
    });
    return this.toResource(caller, group, query);
  }

  /** Replaces the attributes and all users of a group. @throws ScimGroupNotFound; what `create` throws */
  async replace(caller: ScimCaller, id: string, body: unknown, query: ScimAttributesDto): Promise<ScimGroupDto> {
    const { members, ...attributes } = readGroup(body);
    const changes = { add: new Set(members), remove: new Set<string>(), replaces: true };
    const group = await this.write((tx) => this.change(tx, caller, id, () => ({ attributes, members: changes })));
    return this.toResource(caller, group, query);
  }

  /** @throws ScimGroupNotFound; what `create` throws */
  async patch(caller: ScimCaller, id: string, body: unknown): Promise<void> {
    await this.write((tx) => this.change(tx, caller, id, (group) => patchGroup(group, body)));
  }

  /** Deletes a group; its users lose the role that it gave. @throws ScimGroupNotFound */
  async remove(caller: ScimCaller, id: string): Promise<void> {
    await this.write(async (tx) => {
      const provider = await this.lockProvider(tx, caller);
      const group = await this.groups.lock(tx, caller, id);
      const members = await this.groups.listMemberIds(tx, id);
      await this.groups.remove(tx, id);
      await this.applyRoles(tx, caller, provider, members);
      await this.record(tx, caller, 'scim.group.delete', group, { members: members.length });
    });
  }

  private async change(
    tx: WorkerTransaction,
    caller: ScimCaller,
    id: string,
    read: (group: ScimGroup) => ReturnType<typeof patchGroup>,
  ): Promise<ScimGroup> {
    const provider = await this.lockProvider(tx, caller);
    const before = await this.groups.lock(tx, caller, id);
    const { attributes, members } = read(before);
    const current = new Set(await this.groups.listMemberIds(tx, id));
    const added = [...members.add].filter((user) => !current.has(user));
    const removed = [...current].filter((user) =>
      members.replaces ? !members.add.has(user) : members.remove.has(user),
    );
    if (current.size + added.length - removed.length > MAX_GROUP_MEMBERS) throw tooManyMembers();
    const row = await this.groups.change(tx, id, attributes);
    if (removed.length > 0) await this.groups.removeMembers(tx, id, removed);
    await this.addMembers(tx, row, added);
    const isRenamed = row.displayName !== before.displayName;
    await this.applyRoles(
      tx,
      caller,
      provider,
      isRenamed ? [...new Set([...current, ...added])] : [...added, ...removed],
    );
    await this.record(tx, caller, 'scim.group.update', row, {
      ...{ fields: changedFields(before, attributes), added: added.length, removed: removed.length },
    });
    return row;
  }

  private async addMembers(tx: WorkerTransaction, group: ScimGroup, ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return;
    if ((await this.groups.addMembers(tx, group, ids)) < ids.length) {
      throw new ScimBadRequest('invalidValue', 'members must name users of this provider');
    }
  }

  /** Users of a group without a role keep theirs, so that they are not looked at. */
  private async applyRoles(
    tx: WorkerTransaction,
    caller: ScimCaller,
    provider: SsoProvider,
    ids: readonly string[],
  ): Promise<void> {
    const givesRoles = provider.scimGroupsByName || provider.scimRoleMappings.length > 0;
    if (!givesRoles || ids.length === 0) return;
    if (ids.length > MAX_APPLIED) return this.users.outdate(tx, caller, ids);
    for (const user of await this.users.lockAll(tx, caller, ids)) await this.memberships.apply(tx, provider, user);
  }

  private async write<T>(work: (tx: WorkerTransaction) => Promise<T>): Promise<T> {
    try {
      return await this.worker.transaction(work);
    } catch (cause) {
      const taken = Object.entries(CONFLICTS).find(([constraint]) => isUniqueViolation(cause, constraint));
      if (!taken) throw cause;
      throw new ScimConflict(taken[1], { cause });
    }
  }

  private async lockProvider(tx: WorkerTransaction, { providerId }: ScimCaller): Promise<SsoProvider> {
    const provider = await this.providers.lockShared(tx, providerId);
    if (!provider) throw new ScimGroupNotFound();
    return provider;
  }

  private record(
    tx: WorkerTransaction,
    caller: ScimCaller,
    action: 'scim.group.create' | 'scim.group.update' | 'scim.group.delete',
    { id, displayName, partnerId, orgId }: ScimGroup,
    details: Record<string, unknown>,
  ): Promise<void> {
    const { tokenId, providerId } = caller;
    const resource = { type: 'scim_group', id, name: displayName, partnerId, orgId };
    return this.audit.record(tx, caller, action, resource, { tokenId, providerId, ...details });
  }

  private async toResource(caller: ScimCaller, group: ScimGroup, query: ScimAttributesDto): Promise<ScimGroupDto> {
    const [resource] = await this.toResources(caller, [group], query);
    return resource;
  }

  private async toResources(
    caller: ScimCaller,
    groups: ScimGroup[],
    query: ScimAttributesDto,
  ): Promise<ScimGroupDto[]> {
    const baseUrl = scimBaseUrl(this.config.publicApiUrl);
    if (!isRequested('members', query) || groups.length === 0) {
      return groups.map((group) => project(toScimGroup(group, null, baseUrl), query));
    }
    const ids = groups.map(({ id }) => id);
    const members = await this.groups.listMembers(caller, ids, MAX_GROUP_MEMBERS + 1);
    // The users of the group with the last row may be incomplete: the page ends before it, but never without a group.
    const last = members.length > MAX_GROUP_MEMBERS ? ids.indexOf(members[MAX_GROUP_MEMBERS].groupId) : ids.length;
    return groups.slice(0, Math.max(1, last)).map((group) => {
      const own = members.filter(({ groupId }) => groupId === group.id).slice(0, MAX_GROUP_MEMBERS);
      return project(toScimGroup(group, own, baseUrl), query);
    });
  }
}

const CONFLICTS: Readonly<Record<string, string>> = {
  scim_group_name_key: 'Another group of the provider has the displayName',
  scim_group_external_key: 'Another group of the provider has the externalId',
};

const changedFields = (before: GroupAttributes, after: GroupAttributes): string[] =>
  (Object.keys(after) as (keyof GroupAttributes)[]).filter((name) => before[name] !== after[name]);
