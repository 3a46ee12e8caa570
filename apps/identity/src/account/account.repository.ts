import { Injectable } from '@nestjs/common';
import { TenantDatabase, type HasTenant, type SqlExecutor } from '@rmm/persistence';

/** A picture; without bytes when the client has the current one. */
export interface StoredAvatar {
  mime: string;
  etag: string;
  bytes: Buffer | null;
}

export interface EditableProfile {
  name: string;
  preferences: Record<string, unknown>;
}

/** Queries for a user's own profile and avatar. */
@Injectable()
export class AccountRepository {
  constructor(private readonly tenants: TenantDatabase) {}

  /** Locks the profile of a user until the transaction ends. */
  async lockProfile(tx: SqlExecutor, userId: string): Promise<EditableProfile | null> {
    const [profile] = await tx.query<EditableProfile>(
      'SELECT name, preferences FROM user_account WHERE id = :userId FOR UPDATE',
      { userId },
    );
    return profile ?? null;
  }

  async updateProfile(tx: SqlExecutor, userId: string, { name, preferences }: EditableProfile): Promise<void> {
    await tx.query(
      'UPDATE user_account SET name = :name, preferences = :preferences, updated_at = now() WHERE id = :userId',
      { userId, name, preferences: JSON.stringify(preferences) },
    );
  }

  /** Locks the account, so that concurrent changes run one after the other. @returns the user's name */
  async setAvatarUrl(tx: SqlExecutor, userId: string, avatarUrl: string | null): Promise<string | null> {
    const [user] = await tx.query<{ name: string }>(
      'UPDATE user_account SET avatar_url = :avatarUrl, updated_at = now() WHERE id = :userId RETURNING name',
      { userId, avatarUrl },
    );
    return user?.name ?? null;
  }

  /** @returns when it was stored */
  async replaceAvatar(tx: SqlExecutor, userId: string, avatar: Required<StoredAvatar>): Promise<Date> {
    const [stored] = await tx.query<{ updatedAt: Date }>(
      `INSERT INTO avatar (user_id, mime, bytes, etag) VALUES (:userId, :mime, :bytes, :etag)
       ON CONFLICT (user_id) DO UPDATE
         SET mime = excluded.mime, bytes = excluded.bytes, etag = excluded.etag, updated_at = now()
       RETURNING updated_at AS "updatedAt"`,
      { userId, ...avatar },
    );
    if (!stored) throw new Error('INSERT INTO avatar returned no row');
    return stored.updatedAt;
  }

  async deleteAvatar(tx: SqlExecutor, userId: string): Promise<void> {
    await tx.query('DELETE FROM avatar WHERE user_id = :userId', { userId });
  }

  /** Reads an avatar; without its bytes when `known` contains its ETag or `*`. */
  async findAvatar(caller: HasTenant, userId: string, known: readonly string[]): Promise<StoredAvatar | null> {
    const [avatar] = await this.tenants.read<StoredAvatar>(
      caller,
      `SELECT mime, etag,
         CASE WHEN etag = ANY(:known::text[]) OR '*' = ANY(:known::text[]) THEN NULL ELSE bytes END AS bytes
       FROM avatar WHERE user_id = :userId`,
      { userId, known },
    );
    return avatar ?? null;
  }

  /** Counts the caller's own unused recovery codes. */
  async countRecoveryCodes(caller: HasTenant, userId: string): Promise<number> {
    const [codes] = await this.tenants.read<{ left: number }>(
      caller,
      'SELECT count(*)::integer AS left FROM recovery_code WHERE user_id = :userId',
      { userId },
    );
    return codes?.left ?? 0;
  }
}
