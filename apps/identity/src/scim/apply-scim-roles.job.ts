import { Injectable } from '@nestjs/common';
import { WorkerDatabase, type WorkerTransaction } from '@rmm/persistence';
import { Job, Logger } from '@rmm/service-kit';
import type { SsoProvider } from '../sso/sso-provider.entity.js';
import { SsoProvidersRepository } from '../sso/sso-providers.repository.js';
import { ScimMembershipsService } from './scim-memberships.service.js';
import type { ScimUser } from './scim-user.entity.js';
import { ScimUsersRepository } from './scim-users.repository.js';
import { ScimRoleNotGrantable } from './scim.errors.js';

const BATCH = 50;

/** Gives users the roles of changed settings, and those of groups with many users. Replicas share the work. */
@Injectable()
export class ApplyScimRolesJob {
  constructor(
    private readonly worker: WorkerDatabase,
    private readonly users: ScimUsersRepository,
    private readonly providers: SsoProvidersRepository,
    private readonly memberships: ScimMembershipsService,
    private readonly logger: Logger,
  ) {}

  /** Changes a batch of each provider at a time, so that one with many users does not delay the others. */
  @Job({ name: 'apply-scim-roles', everyMs: 2_000 })
  async run(): Promise<void> {
    let hasMore: boolean;
    do {
      hasMore = false;
      for (const id of await this.users.listOutdatedProviders(this.worker)) {
        if ((await this.tryBatch(id)) === BATCH) hasMore = true;
      }
    } while (hasMore);
  }

  /** Leaves a batch that fails to the next run, so that it does not hold up other providers. */
  private async tryBatch(providerId: string): Promise<number> {
    try {
      return await this.worker.transaction((tx) => this.applyBatch(tx, providerId));
    } catch (err) {
      this.logger.error({ err, providerId }, 'applying SCIM roles failed; the next run tries again');
      return 0;
    }
  }

  private async applyBatch(tx: WorkerTransaction, providerId: string): Promise<number> {
    const provider = await this.providers.find(providerId, tx);
    if (!provider) return 0;
    const users = await this.users.lockOutdated(tx, provider, BATCH);
    for (const user of users) await this.apply(tx, provider, user);
    return users.length;
  }

  /** A role that may not be given is left out: the next change of the user or of the settings tries again. */
  private async apply(tx: WorkerTransaction, provider: SsoProvider, user: ScimUser): Promise<void> {
    try {
      await this.memberships.apply(tx, provider, user);
    } catch (err) {
      if (!(err instanceof ScimRoleNotGrantable)) throw err;
      const { id: scimUserId } = user;
      this.logger.warn(
        { err, scimUserId, providerId: provider.id },
        'SCIM role not given; the member keeps the former role',
      );
    }
    await this.users.change(tx, user.id, { settingsVersion: provider.configVersion });
  }
}
