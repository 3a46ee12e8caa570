import { Inject, Injectable } from '@nestjs/common';
import type { ScimCaller } from '@rmm/access';
import { AuditTrail } from '@rmm/messaging';
import { isUniqueViolation, WorkerDatabase, type WorkerTransaction } from '@rmm/persistence';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import type { SsoProvider } from '../sso/sso-provider.entity.js';
import { SsoProvidersRepository } from '../sso/sso-providers.repository.js';
import type { ScimUserDto, ScimUserListDto } from './dto/scim-resource.dto.js';
import { ScimAccountsService } from './scim-accounts.service.js';
import { toScimObject } from './scim-attributes.js';
import { readFilter, type FilterAttributes } from './scim-filter.js';
import { ScimMembershipsService, type MembershipChange } from './scim-memberships.service.js';
import { isRequested, pageOf, project, type ScimAttributesDto, type ScimListDto } from './scim-query.js';
import { scimBaseUrl, toListResponse, toScimUser } from './scim-resource.mapper.js';
import type { ScimUser } from './scim-user.entity.js';
import { ScimUsersRepository, type UserFilter } from './scim-users.repository.js';
import { ScimConflict, ScimUserNotFound } from './scim.errors.js';
import { readUserAttributes, type UserAttributes } from './user-attributes.js';
import { patchUser } from './user-patch.js';

const FILTERS: FilterAttributes<UserFilter> = {
  id: 'id',
  username: 'userName',
  externalid: 'externalId',
  emails: 'email',
  'emails.value': 'email',
  'emails.type': 'emailType',
  displayname: 'displayName',
};

/** Users of an organization as its identity provider keeps them. @see docs/reference/scim.md */
@Injectable()
export class ScimUsersService {
  constructor(
    private readonly worker: WorkerDatabase,
    private readonly users: ScimUsersRepository,
    private readonly providers: SsoProvidersRepository,
    private readonly accounts: ScimAccountsService,
    private readonly memberships: ScimMembershipsService,
    private readonly audit: AuditTrail,
    @Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig,
  ) {}

  async list(caller: ScimCaller, query: ScimListDto): Promise<ScimUserListDto> {
    const page = pageOf(query);
    const { rows, total } = await this.users.list(caller, readFilter(query.filter, FILTERS), page);
    const resources = await this.toResources(caller, rows, query);
    return toListResponse(resources, { total, offset: page.offset });
  }

  /** @throws ScimUserNotFound also for a user of another provider */
  async get(caller: ScimCaller, id: string, query: ScimAttributesDto): Promise<ScimUserDto> {
    return this.toResource(caller, await this.users.get(caller, caller, id), query);
  }

  /**
   * Creates a user, with an account when the address has none, and the membership that its role gives.
   * @throws ScimBadRequest, ScimConflict, ScimAccountRefused, ScimRoleNotGrantable
   */
  async create(caller: ScimCaller, body: unknown, query: ScimAttributesDto): Promise<ScimUserDto> {
    const input = readUserAttributes(toScimObject(body, 'The body'));
    await this.accounts.assertAddressAllowed(await this.getProvider(caller), input.email);
    const user = await this.write(async (tx) => {
      const provider = await this.lockProvider(tx, caller);
      const account = await this.accounts.resolve(tx, provider, input);
      const { tokenId, providerId, partnerId, orgId } = caller;
      const owner = { providerId, partnerId, orgId, settingsVersion: provider.configVersion };
      const row = await this.users.create(tx, { ...input, ...account, ...owner });
      const change = await this.memberships.apply(tx, provider, row);
      await this.audit.record(tx, caller, 'scim.user.create', auditedUser(row), {
        ...{ tokenId, providerId, active: row.active, newAccount: account.ownsAccount, ...change },
      });
      return row;
    });
    return this.toResource(caller, user, query);
  }

  /** Replaces the attributes of a user. @throws ScimUserNotFound; what `create` throws */
  replace(caller: ScimCaller, id: string, body: unknown, query: ScimAttributesDto): Promise<ScimUserDto> {
    const input = readUserAttributes(toScimObject(body, 'The body'));
    return this.update(caller, id, () => input, query);
  }

  /** @throws ScimUserNotFound; what `create` throws */
  patch(caller: ScimCaller, id: string, body: unknown, query: ScimAttributesDto): Promise<ScimUserDto> {
    return this.update(caller, id, (user) => patchUser(user, body), query);
  }

  /** Deletes a user and ends the membership; the account stays. @throws ScimUserNotFound */
  async remove(caller: ScimCaller, id: string): Promise<void> {
    await this.write(async (tx) => {
      const provider = await this.lockProvider(tx, caller);
      const user = await this.users.lock(tx, caller, id);
      const change = await this.memberships.apply(tx, provider, { ...user, active: false });
      await this.users.remove(tx, id);
      await this.record(tx, caller, 'scim.user.delete', user, change);
    });
  }

  private async update(
    caller: ScimCaller,
    id: string,
    change: (user: ScimUser) => UserAttributes,
    query: ScimAttributesDto,
  ): Promise<ScimUserDto> {
    const before = await this.users.get(caller, caller, id);
    const { email } = change(before);
    // Other organizations' domains are read under the worker login, which a transaction of the tenant may not wait for.
    if (email !== before.email) await this.accounts.assertAddressAllowed(await this.getProvider(caller), email);
    const user = await this.write(async (tx) => {
      const provider = await this.lockProvider(tx, caller);
      const current = await this.users.lock(tx, caller, id);
      const input = change(current);
      if (input.email !== email && input.email !== current.email)
        throw new ScimConflict('The user was changed meanwhile');
      const row = await this.users.change(tx, id, { ...input, settingsVersion: provider.configVersion });
      await this.accounts.synchronize(tx, row, current);
      const membership = await this.memberships.apply(tx, provider, row);
      await this.record(tx, caller, 'scim.user.update', row, { ...membership, fields: changedFields(current, input) });
      return row;
    });
    return this.toResource(caller, user, query);
  }

  /** Runs a change; a value that another resource or account has is a conflict. */
  private async write<T>(work: (tx: WorkerTransaction) => Promise<T>): Promise<T> {
    try {
      return await this.worker.transaction(work);
    } catch (cause) {
      const taken = Object.entries(CONFLICTS).find(([constraint]) => isUniqueViolation(cause, constraint));
      if (!taken) throw cause;
      throw new ScimConflict(taken[1], { cause });
    }
  }

  /** Settings and status of the provider stay as they are until the transaction ends. */
  private async lockProvider(tx: WorkerTransaction, { providerId }: ScimCaller): Promise<SsoProvider> {
    const provider = await this.providers.lockShared(tx, providerId);
    if (!provider) throw new ScimUserNotFound();
    return provider;
  }

  private async getProvider({ providerId }: ScimCaller): Promise<SsoProvider> {
    const provider = await this.providers.find(providerId);
    if (!provider) throw new ScimUserNotFound();
    return provider;
  }

  private record(
    tx: WorkerTransaction,
    caller: ScimCaller,
    action: 'scim.user.update' | 'scim.user.delete',
    user: ScimUser,
    change: MembershipChange & { fields?: string[] },
  ): Promise<void> {
    const { tokenId, providerId } = caller;
    return this.audit.record(tx, caller, action, auditedUser(user), {
      ...{ tokenId, providerId, active: user.active, ...change },
    });
  }

  private async toResource(caller: ScimCaller, user: ScimUser, query: ScimAttributesDto): Promise<ScimUserDto> {
    const [resource] = await this.toResources(caller, [user], query);
    return resource;
  }

  private async toResources(caller: ScimCaller, users: ScimUser[], query: ScimAttributesDto): Promise<ScimUserDto[]> {
    const wanted = isRequested('groups', query);
    const groups = wanted
      ? await this.users.listGroups(
          caller,
          users.map(({ id }) => id),
        )
      : [];
    const baseUrl = scimBaseUrl(this.config.publicApiUrl);
    return users.map((user) => {
      const own = wanted ? groups.filter(({ scimUserId }) => scimUserId === user.id) : null;
      return project(toScimUser(user, own, baseUrl), query);
    });
  }
}

const CONFLICTS: Readonly<Record<string, string>> = {
  scim_user_name_key: 'Another user of the provider has the userName',
  scim_user_external_key: 'Another user of the provider has the externalId',
  scim_user_account_key: 'The account of the address is provisioned already',
  user_account_email_key: 'Another account has the address',
};

const auditedUser = ({ userId, userName, partnerId, orgId }: ScimUser) => ({
  ...{ type: 'user', id: userId, name: userName, partnerId, orgId },
});

const changedFields = (before: UserAttributes, after: UserAttributes): string[] =>
  (Object.keys(after) as (keyof UserAttributes)[]).filter((name) => before[name] !== after[name]);
