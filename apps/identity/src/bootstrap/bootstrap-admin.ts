import { Inject, Injectable } from '@nestjs/common';
import { AuditTrail } from '@rmm/messaging';
import { WorkerDatabase, type SqlExecutor } from '@rmm/persistence';
import { Logger } from '@rmm/service-kit';
import { SYSTEM_CALLER } from '../audit/actors.js';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import { PasswordHasher } from '../login/password-hasher.js';
import { assertStrongPassword } from '../login/password-rules.js';

/** One number for one lock: of replicas that start together one makes the administrator. */
const BOOTSTRAP_LOCK = 727_004;

/** Makes the first platform administrator, once, when no system user exists. @see CONTRACT.md 4.6 */
@Injectable()
export class BootstrapAdmin {
  constructor(
    private readonly worker: WorkerDatabase,
    private readonly hasher: PasswordHasher,
    private readonly audit: AuditTrail,
    private readonly logger: Logger,
    @Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig,
  ) {}

  /** @throws WeakPassword: the start is refused */
  async ensure(): Promise<void> {
    const admin = this.config.bootstrapAdmin;
    if (!admin || (await this.exists(this.worker))) return;
    await assertStrongPassword(admin.password, { email: admin.email });
    const hash = await this.hasher.hash(admin.password);
    const made = await this.worker.transaction(async (tx) => {
      await tx.query('select pg_advisory_xact_lock($1)', [BOOTSTRAP_LOCK]);
      if (await this.exists(tx)) return false;
      const [user] = await tx.query<{ id: string }>(
        `insert into user_account (email, name, password_hash, status, is_platform_admin, requires_setup,
           password_changed_at)
         values ($1, 'Platform Administrator', $2, 'active', true, true, now())
         on conflict (email) do nothing returning id`,
        [admin.email, hash],
      );
      if (!user) throw new Error('BOOTSTRAP_ADMIN_EMAIL belongs to an account that is no system user');
      const resource = { type: 'user', id: user.id, name: admin.email };
      await this.audit.record(tx, SYSTEM_CALLER, 'user.bootstrap', resource);
      return true;
    });
    if (made) this.logger.info({ email: admin.email }, 'The platform administrator was made');
  }

  private async exists(db: SqlExecutor): Promise<boolean> {
    return (await db.query('select 1 as one from user_account where is_platform_admin limit 1')).length > 0;
  }
}
