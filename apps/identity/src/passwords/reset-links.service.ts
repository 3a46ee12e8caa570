import { Inject, Injectable } from '@nestjs/common';
import type { SqlExecutor } from '@rmm/persistence';
import { hashKey, mintLinkToken } from '@rmm/secrets';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import { tenantIsActive, type User } from '../users/user.js';
import { UsersRepository } from '../users/users.repository.js';
import { ResetLinksRepository } from './reset-links.repository.js';

const LINK_TOKEN = /^[A-Za-z0-9_-]{48}$/;

/** Links that set a new password, under the worker login. @see docs/reference/authentication.md */
@Injectable()
export class ResetLinks {
  constructor(
    private readonly repository: ResetLinksRepository,
    private readonly users: UsersRepository,
    @Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig,
  ) {}

  /**
   * Issues a link and invalidates older ones of the user.
   * @returns the URL to mail, based on PUBLIC_APP_URL alone; null for a user who could not sign in with a password
   */
  async issue(tx: SqlExecutor, user: User): Promise<string | null> {
    if (!canReset(user)) return null;
    const { key, keyHash } = mintLinkToken();
    const stored = await this.repository.replace(tx, user.id, user.email, keyHash);
    return stored ? `${this.config.publicAppUrl}/reset-password?token=${key}` : null;
  }

  /** Returns the user of a valid link, without using it. */
  async findUser(db: SqlExecutor, token: string): Promise<User | null> {
    if (!LINK_TOKEN.test(token)) return null;
    return this.findById(db, await this.repository.findUserId(db, hashKey(token)));
  }

  /** Uses a link: returns its user to exactly one of concurrent callers, null when the link is invalid by now. */
  async use(tx: SqlExecutor, token: string): Promise<User | null> {
    return this.findById(tx, await this.repository.use(tx, hashKey(token)));
  }

  private async findById(db: SqlExecutor, userId: string | null): Promise<User | null> {
    const user = userId === null ? null : await this.users.findById(db, userId);
    return user && canReset(user) ? user : null;
  }
}

/**
 * Returns true when the user could sign in with a password. An account without one signs in by other means: access to
 * the mailbox alone must not add a second way.
 */
export const canReset = ({ status, passwordHash, memberships }: User): boolean =>
  status === 'active' && passwordHash !== null && memberships.some(tenantIsActive);
