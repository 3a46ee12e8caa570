import { createHash } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { AuditTrail } from '@rmm/messaging';
import { TenantDatabase, type TenantTransaction } from '@rmm/persistence';
import { NotFoundError, RateLimits, UnauthenticatedError } from '@rmm/service-kit';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import { AVATAR_MIME, AvatarImages } from './avatar-images.js';
import type { AvatarDto } from './avatar.dto.js';

/** A picture as it is handed out; without bytes when the client has this one. */
export interface StoredAvatar {
  mime: string;
  etag: string;
  bytes: Buffer | null;
}

/** Pictures of people, in the database, so that every replica has them. */
@Injectable()
export class AvatarsService {
  constructor(
    private readonly tenants: TenantDatabase,
    private readonly images: AvatarImages,
    private readonly limits: RateLimits,
    private readonly audit: AuditTrail,
    @Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig,
  ) {}

  /** Of uploads at once one stays, with the URL that belongs to it. @throws what `AvatarImages` throws; RateLimitedError */
  async replace(caller: UserCaller, upload: Buffer): Promise<AvatarDto> {
    await this.limits.hit(this.config.limits.avatarUpload, caller.userId);
    const bytes = await this.images.avatarOf(upload);
    const etag = createHash('sha256').update(bytes).digest('hex').slice(0, 32);
    const avatarUrl = `/api/v1/users/${caller.userId}/avatar?v=${etag.slice(0, 12)}`;
    return this.tenants.transaction(caller, async (tx) => {
      const name = await this.setUrl(tx, caller, avatarUrl);
      const [stored] = await tx.query<{ updatedAt: Date }>(
        `insert into avatar (user_id, mime, bytes, etag) values ($1, $2, $3, $4)
         on conflict (user_id) do update
           set mime = excluded.mime, bytes = excluded.bytes, etag = excluded.etag, updated_at = now()
         returning updated_at as "updatedAt"`,
        [caller.userId, AVATAR_MIME, bytes, etag],
      );
      if (!stored) throw new Error('The avatar that was just stored cannot be read');
      const size = bytes.length;
      const resource = { type: 'user', id: caller.userId, name };
      await this.audit.record(tx, caller, 'user.avatar.upload', resource, { size, uploadedBytes: upload.length });
      return { avatarUrl, size, mime: AVATAR_MIME, updatedAt: stored.updatedAt.toISOString() };
    });
  }

  /** Twice does no harm. */
  async remove(caller: UserCaller): Promise<void> {
    await this.tenants.transaction(caller, async (tx) => {
      const name = await this.setUrl(tx, caller, null);
      await tx.query('delete from avatar where user_id = $1', [caller.userId]);
      await this.audit.record(tx, caller, 'user.avatar.delete', { type: 'user', id: caller.userId, name });
    });
  }

  /**
   * @param known  the tags of what the client has; `*` stands for any
   * @throws NotFoundError where there is none, and for people the caller does not see
   */
  async get(caller: UserCaller, userId: string, known: string[]): Promise<StoredAvatar> {
    const [avatar] = await this.tenants.read<StoredAvatar>(
      caller,
      `select mime, etag, case when etag = any($2::text[]) or '*' = any($2::text[]) then null else bytes end as bytes
       from avatar where user_id = $1`,
      [userId, known],
    );
    if (!avatar) throw new NotFoundError('Avatar');
    return avatar;
  }

  /** The account's row goes first: it puts changes that come at once in a row. */
  private async setUrl(tx: TenantTransaction, { userId }: UserCaller, avatarUrl: string | null): Promise<string> {
    const [person] = await tx.query<{ name: string }>(
      'update user_account set avatar_url = $2, updated_at = now() where id = $1 returning name',
      [userId, avatarUrl],
    );
    if (!person) throw new UnauthenticatedError();
    return person.name;
  }
}
