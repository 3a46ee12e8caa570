import { Injectable } from '@nestjs/common';
import { WorkerDatabase, type WorkerTransaction } from '@rmm/persistence';
import { Job, Logger } from '@rmm/service-kit';
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

  @Job({ name: 'apply-scim-roles', everyMs: 2_000 })
  async run(): Promise<void> {
    while ((await this.worker.transaction((tx) => this.applyBatch(tx))) === BATCH);
  }

  private async applyBatch(tx: WorkerTransaction): Promise<number> {
    const users = await this.users.lockOutdated(tx, BATCH);
    for (const user of users) await this.apply(tx, user);
    return users.length;
  }

  /** A role that may not be given is left out: the next change of the user or of the settings tries again. */
  private async apply(tx: WorkerTransaction, user: ScimUser): Promise<void> {
    const provider = await this.providers.find(user.providerId, tx);
    if (!provider) return;
    try {
      await this.memberships.apply(tx, provider, user);
    } catch (err) {
      if (!(err instanceof ScimRoleNotGrantable)) throw err;
      const { id: scimUserId, providerId } = user;
      this.logger.warn({ err, scimUserId, providerId }, 'SCIM role not given; the member keeps the former role');
    }
    await this.users.change(tx, user.id, { settingsVersion: provider.configVersion });
  }
}
