import { Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { AuditTrail } from '@rmm/messaging';
import { WorkerDatabase, type SqlExecutor } from '@rmm/persistence';
import { NotFoundError, ValidationError } from '@rmm/service-kit';
import { AccessChanges } from '../access/access-changes.js';
import { SessionEnder } from '../sessions/session-ender.js';
import type { PlatformUserDto } from './account.dto.js';
import type { UpdateUserDto } from './dto.js';
import { LastAdmin, SelfActionRefused } from './members.errors.js';
import type { UserStatus } from './person.js';

interface AccountRow extends Omit<PlatformUserDto, 'lastLoginAt' | 'createdAt' | 'updatedAt'> {
  lastLoginAt: Date | null;
  createdAt: Date;
  updatedAt: Date;
}

const COLUMNS = `id, email, name, status, disabled_reason as "disabledReason", is_platform_admin as "isPlatformAdmin",
  mfa_enabled as "mfaEnabled", last_login_at as "lastLoginAt", created_at as "createdAt", updated_at as "updatedAt"`;

const PLATFORM_ADMINS_LOCK = 727_005;

/** Accounts as the platform sees them, memberships or not: a person is global, so only the platform changes one. */
@Injectable()
export class AccountsService {
  constructor(
    private readonly worker: WorkerDatabase,
    private readonly sessions: SessionEnder,
    private readonly audit: AuditTrail,
    private readonly access: AccessChanges,
  ) {}

  /**
   * Leaving `active` ends every session in the same transaction.
   * @throws NotFoundError; SelfActionRefused when the caller would shut itself out; LastAdmin
   */
  async update(caller: UserCaller, userId: string, dto: UpdateUserDto): Promise<PlatformUserDto> {
    if (Object.values(dto).every((value) => value === undefined)) {
      throw ValidationError.of('body', 'names no field to change');
    }
    if (userId === caller.userId && dto.status !== undefined && dto.status !== 'active') throw new SelfActionRefused();
    return this.worker.transaction(async (tx) => {
      const [before] = await tx.query<AccountRow>(`select ${COLUMNS} from user_account where id = $1 for update`, [
        userId,
      ]);
      if (!before) throw new NotFoundError('User');
      if (before.isPlatformAdmin && leaves(before.status, dto.status)) await this.assertAnotherAdmin(tx, userId);
      const after = await store(tx, before, dto);
      const sessions = leaves(before.status, after.status) ? await this.sessions.endAll(tx, userId, 'not_active') : 0;
      await this.access.announce(tx, { userIds: [userId], reason: 'user_changed' });
      const details = { fields: Object.keys(dto), status: { from: before.status, to: after.status }, sessions };
      await this.audit.record(tx, caller, 'user.update', { type: 'user', id: userId, name: after.email }, details);
      return toPlatformUser(after);
    });
  }

  /** One after the other: two platform administrators cannot shut each other out. */
  private async assertAnotherAdmin(tx: SqlExecutor, userId: string): Promise<void> {
    await tx.query('select pg_advisory_xact_lock($1)', [PLATFORM_ADMINS_LOCK]);
    const others = await tx.query(
      `select 1 as one from user_account where is_platform_admin and status = 'active' and id <> $1 limit 1`,
      [userId],
    );
    if (others.length === 0) throw new LastAdmin();
  }
}

async function store(tx: SqlExecutor, before: AccountRow, { name, status, disabledReason }: UpdateUserDto) {
  const nextStatus = (status ?? before.status) as UserStatus;
  const reason = disabledReason === undefined ? before.disabledReason : disabledReason;
  const [after] = await tx.query<AccountRow>(
    `update user_account set name = $2, status = $3, disabled_reason = $4, updated_at = now() where id = $1
     returning ${COLUMNS}`,
    [before.id, name ?? before.name, nextStatus, nextStatus === 'disabled' ? reason : null],
  );
  if (!after) throw new Error('The account was not stored');
  return after;
}

const leaves = (before: UserStatus, after: string | undefined): boolean =>
  before === 'active' && after !== undefined && after !== 'active';

const toPlatformUser = (account: AccountRow): PlatformUserDto => ({
  id: account.id,
  email: account.email,
  name: account.name,
  status: account.status,
  disabledReason: account.disabledReason,
  isPlatformAdmin: account.isPlatformAdmin,
  mfaEnabled: account.mfaEnabled,
  lastLoginAt: account.lastLoginAt?.toISOString() ?? null,
  createdAt: account.createdAt.toISOString(),
  updatedAt: account.updatedAt.toISOString(),
});
