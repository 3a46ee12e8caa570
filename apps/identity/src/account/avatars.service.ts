import { Inject, Injectable } from '@nestjs/common';
import { createHash } from 'node:crypto';
import type { UserCaller } from '@rmm/access';
import { AuditTrail } from '@rmm/messaging';
import { TenantDatabase, type TenantTransaction } from '@rmm/persistence';
import { RateLimits } from '@rmm/rate-limits';
import { NotFoundError, UnauthenticatedError, UnavailableError, UnsupportedMediaTypeError } from '@rmm/service-kit';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import { UsersRepository, type StoredAvatar } from '../users/users.repository.js';
import { AVATAR_MIME, convertToAvatar, isSupportedImage } from './avatar-image.js';
import type { AvatarDto } from './dto/avatar.dto.js';

/** Uploads that may wait for their conversion. */
const MAX_WAITING = 8;

/** Stores, removes and returns avatars of users. */
@Injectable()
export class AvatarsService {
  private lastConversion: Promise<unknown> = Promise.resolve();
  private waiting = 0;

  constructor(
    private readonly tenants: TenantDatabase,
    private readonly users: UsersRepository,
    private readonly limits: RateLimits,
    private readonly audit: AuditTrail,
    @Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig,
  ) {}

  /**
   * Replaces the caller's avatar.
   * @throws UnsupportedMediaTypeError for other formats and damaged files; PayloadTooLargeError for too many pixels;
   *   UnavailableError when too many uploads wait; RateLimitedError
   */
  async replace(caller: UserCaller, upload: Buffer): Promise<AvatarDto> {
    await this.limits.hit(this.config.limits.avatarUpload, caller.userId);
    const bytes = await this.convert(upload);
    const etag = createHash('sha256').update(bytes).digest('hex').slice(0, 32);
    const avatarUrl = `/api/v1/users/${caller.userId}/avatar?v=${etag.slice(0, 12)}`;
    return this.tenants.transaction(caller, async (tx) => {
      const name = await this.setUrl(tx, caller, avatarUrl);
      const updatedAt = await this.users.replaceAvatar(tx, caller.userId, { mime: AVATAR_MIME, bytes, etag });
      const size = bytes.length;
      const resource = { type: 'user', id: caller.userId, name };
      await this.audit.record(tx, caller, 'user.avatar.upload', resource, { size, uploadedBytes: upload.length });
      return { avatarUrl, size, mime: AVATAR_MIME, updatedAt: updatedAt.toISOString() };
    });
  }

  /** Removes the caller's avatar, if there is one. */
  async remove(caller: UserCaller): Promise<void> {
    await this.tenants.transaction(caller, async (tx) => {
      const name = await this.setUrl(tx, caller, null);
      await this.users.deleteAvatar(tx, caller.userId);
      await this.audit.record(tx, caller, 'user.avatar.delete', { type: 'user', id: caller.userId, name });
    });
  }

  /**
   * @param known the ETags the client has; `*` matches any
   * @throws NotFoundError without an avatar, and for a user the caller cannot see
   */
  async get(caller: UserCaller, userId: string, known: string[]): Promise<StoredAvatar> {
    const avatar = await this.users.findAvatar(caller, userId, known);
    if (!avatar) throw new NotFoundError('Avatar');
    return avatar;
  }

  /** Converts one upload at a time, because the thread pool also hashes passwords. */
  private async convert(upload: Buffer): Promise<Buffer> {
    if (!isSupportedImage(upload)) throw new UnsupportedMediaTypeError();
    if (this.waiting >= MAX_WAITING) throw new UnavailableError();
    this.waiting += 1;
    const conversion = this.lastConversion.then(() => convertToAvatar(upload));
    this.lastConversion = conversion.catch(() => undefined);
    return conversion.finally(() => (this.waiting -= 1));
  }

  private async setUrl(tx: TenantTransaction, { userId }: UserCaller, avatarUrl: string | null): Promise<string> {
    const name = await this.users.setAvatarUrl(tx, userId, avatarUrl);
    if (name === null) throw new UnauthenticatedError();
    return name;
  }
}
