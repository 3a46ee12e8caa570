import { Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { AuditTrail, type OutboxTransaction } from '@rmm/messaging';
import { TenantDatabase, WorkerDatabase } from '@rmm/persistence';
import { UnauthenticatedError, ValidationError } from '@rmm/service-kit';
import { InvitationsRepository } from '../invitations/invitations.repository.js';
import { ManagedByScim } from '../members/member.errors.js';
import { MfaRepository } from '../mfa/mfa.repository.js';
import type { User } from '../users/user.types.js';
import { UsersRepository } from '../users/users.repository.js';
import type { AccountDto, ProfileDto, UpdatedProfileDto } from './dto/profile.dto.js';
import type { UpdateProfileDto } from './dto/update-profile.dto.js';
import { EmailChangeService, type PendingAddress } from './email-change.service.js';
import { assertPreferences, mergePreferences } from './preferences.js';
import { toAccountDto, toProfileDto } from './profile.mapper.js';

type Changes = Pick<UpdateProfileDto, 'name' | 'preferences'>;

/** The signed-in user's own profile. */
@Injectable()
export class ProfileService {
  constructor(
    private readonly tenants: TenantDatabase,
    private readonly worker: WorkerDatabase,
    private readonly users: UsersRepository,
    private readonly factors: MfaRepository,
    private readonly invitations: InvitationsRepository,
    private readonly addresses: EmailChangeService,
    private readonly audit: AuditTrail,
  ) {}

  /** Returns the body of GET /auth/me. */
  async getAccount(caller: UserCaller): Promise<AccountDto> {
    const user = await this.getUser(caller);
    const [recoveryCodesLeft, invitations] = await Promise.all([
      this.factors.countRecoveryCodes(this.tenants.reader(caller), user.id),
      this.invitations.listOfUser(this.worker, user.id),
    ]);
    return toAccountDto(user, caller, { recoveryCodesLeft, invitations });
  }

  /** Returns the body of GET /users/me. */
  async getProfile(caller: UserCaller): Promise<ProfileDto> {
    return toProfileDto(await this.getUser(caller), caller);
  }

  /**
   * Updates all fields of the body or none. A new address stays pending until it is confirmed.
   * @throws ValidationError without a change, or for unsuitable preferences; ManagedByScim for the name or
   *   address of an account that SCIM keeps; what `EmailChangeService.prove` throws
   */
  async update(caller: UserCaller, dto: UpdateProfileDto): Promise<UpdatedProfileDto> {
    const { name, email, preferences } = dto;
    if (preferences !== undefined) assertPreferences(preferences);
    const changesAccount = name !== undefined || email !== undefined;
    if (changesAccount && (await this.users.isOwnedByScim(this.worker, caller.userId))) throw new ManagedByScim();
    const proven = email === undefined ? null : await this.addresses.prove(caller, email, dto);
    if (name === undefined && preferences === undefined && !proven) throw new ValidationError('Nothing to change');

    const apply = async (tx: OutboxTransaction): Promise<PendingAddress | undefined> => {
      await this.apply(tx, caller, { name, preferences });
      return proven ? this.addresses.request(tx, caller, proven) : undefined;
    };
    // Only the worker login writes links that change an address, so the whole change then runs under it.
    const pending = await (proven ? this.worker.transaction(apply) : this.tenants.transaction(caller, apply));
    return { ...(await this.getProfile(caller)), ...pending };
  }

  private async apply(tx: OutboxTransaction, caller: UserCaller, changes: Changes): Promise<void> {
    const fields = Object.entries(changes).flatMap(([field, value]) => (value === undefined ? [] : [field]));
    if (fields.length === 0) return;
    const stored = await this.users.lockProfile(tx, caller.userId);
    if (!stored) throw new UnauthenticatedError();
    const { name = stored.name, preferences = {} } = changes;
    const merged = mergePreferences(stored.preferences, preferences);
    await this.users.updateProfile(tx, caller.userId, { name, preferences: merged });
    await this.audit.record(tx, caller, 'user.profile.update', { type: 'user', id: caller.userId, name }, { fields });
  }

  private async getUser(caller: UserCaller): Promise<User> {
    const user = await this.users.findById(this.worker, caller.userId);
    if (!user) throw new UnauthenticatedError();
    return user;
  }
}
