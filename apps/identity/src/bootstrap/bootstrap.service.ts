import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { AuditTrail } from '@rmm/messaging';
import { WorkerDatabase } from '@rmm/persistence';
import { Logger } from '@rmm/service-kit';
import { SYSTEM_CALLER } from '../audit/actors.js';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import { PasswordHasher } from '../passwords/password-hasher.service.js';
import { assertStrongPassword } from '../passwords/password.policy.js';
import { RolesRepository } from '../roles/roles.repository.js';
import { UsersRepository } from '../users/users.repository.js';

/** Creates at start what the first request needs: the system roles, then the first platform administrator. */
@Injectable()
export class BootstrapService implements OnModuleInit {
  constructor(
    private readonly worker: WorkerDatabase,
    private readonly roles: RolesRepository,
    private readonly users: UsersRepository,
    private readonly hasher: PasswordHasher,
    private readonly audit: AuditTrail,
    private readonly logger: Logger,
    @Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig,
  ) {}

  /** @throws WeakPassword, which refuses the start */
  async onModuleInit(): Promise<void> {
    await this.worker.transaction((tx) => this.roles.seed(tx));
    await this.ensureAdmin();
  }

  private async ensureAdmin(): Promise<void> {
    const admin = this.config.bootstrapAdmin;
    if (!admin || (await this.users.hasPlatformAdmin(this.worker))) return;
    await assertStrongPassword(admin.password, { email: admin.email });
    const passwordHash = await this.hasher.hash(admin.password);
    const isCreated = await this.worker.transaction(async (tx) => {
      await this.users.lockPlatformAdmins(tx);
      if (await this.users.hasPlatformAdmin(tx)) return false;
      const userId = await this.users.insertPlatformAdmin(tx, { email: admin.email, passwordHash });
      if (!userId) throw new Error('BOOTSTRAP_ADMIN_EMAIL belongs to a user who is no platform administrator');
      const resource = { type: 'user', id: userId, name: admin.email };
      await this.audit.record(tx, SYSTEM_CALLER, 'user.bootstrap', resource);
      return true;
    });
    if (isCreated) this.logger.info({ email: admin.email }, 'platform administrator created');
  }
}
