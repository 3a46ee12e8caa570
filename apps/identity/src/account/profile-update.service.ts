import { Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { AuditTrail, type OutboxTransaction } from '@rmm/messaging';
import { TenantDatabase, WorkerDatabase } from '@rmm/persistence';
import { UnauthenticatedError, ValidationError } from '@rmm/service-kit';
import type { UpdateProfileDto } from './dto.js';
import { EmailChangeService, type PendingAddress } from './email-change.service.js';
import { assertPreferences, mergePreferences } from './preferences.js';
import type { UpdatedProfileDto } from './profile.dto.js';
import { ProfileService } from './profile.service.js';

type Changes = Pick<UpdateProfileDto, 'name' | 'preferences'>;

/** Changing the own profile. */
@Injectable()
export class ProfileUpdateService {
  constructor(
    private readonly tenants: TenantDatabase,
    private readonly worker: WorkerDatabase,
    private readonly profiles: ProfileService,
    private readonly addresses: EmailChangeService,
    private readonly audit: AuditTrail,
  ) {}

  /**
   * All of the body or nothing of it. A new address only becomes pending.
   * @throws ValidationError when there is nothing to change, or preferences do not fit; what `EmailChangeService.prove` throws
   */
  async update(caller: UserCaller, dto: UpdateProfileDto): Promise<UpdatedProfileDto> {
    const { name, email, preferences } = dto;
    if (preferences !== undefined) assertPreferences(preferences);
    const proven = email === undefined ? null : await this.addresses.prove(caller, email, dto);
    if (name === undefined && preferences === undefined && !proven) throw new ValidationError('Nothing to change');

    const apply = async (tx: OutboxTransaction): Promise<PendingAddress | undefined> => {
      await this.apply(tx, caller, { name, preferences });
      return proven ? this.addresses.request(tx, caller, proven) : undefined;
    };
    // Links are rows of the worker login; whatever else changes with one goes with it.
    const pending = await (proven ? this.worker.transaction(apply) : this.tenants.transaction(caller, apply));
    return { ...(await this.profiles.profile(caller)), ...pending };
  }

  private async apply(tx: OutboxTransaction, caller: UserCaller, changes: Changes): Promise<void> {
    const fields = Object.entries(changes).flatMap(([field, value]) => (value === undefined ? [] : [field]));
    if (fields.length === 0) return;
    const [stored] = await tx.query<{ name: string; preferences: Record<string, unknown> }>(
      'select name, preferences from user_account where id = $1 for update',
      [caller.userId],
    );
    if (!stored) throw new UnauthenticatedError();
    const { name = stored.name, preferences = {} } = changes;
    await tx.query('update user_account set name = $2, preferences = $3, updated_at = now() where id = $1', [
      caller.userId,
      name,
      JSON.stringify(mergePreferences(stored.preferences, preferences)),
    ]);
    await this.audit.record(tx, caller, 'user.profile.update', { type: 'user', id: caller.userId, name }, { fields });
  }
}
