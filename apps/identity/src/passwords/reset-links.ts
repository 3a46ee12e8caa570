import { Inject, Injectable } from '@nestjs/common';
import type { SqlExecutor } from '@rmm/persistence';
import { mintLinkToken } from '@rmm/secrets';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import { tenantIsActive, type User } from '../users/user.js';
import { ResetLinksRepository } from './reset-links.repository.js';

/** Makes the links by which users choose a new password. @see CONTRACT.md 4.7 */
@Injectable()
export class ResetLinks {
  constructor(
    private readonly repository: ResetLinksRepository,
    @Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig,
  ) {}

  /**
   * Under the worker login; older links of the user die.
   * @returns the address to mail, built on PUBLIC_APP_URL alone; null for somebody who could not sign in with a password
   */
  async issue(tx: SqlExecutor, user: User): Promise<string | null> {
    if (!mayReset(user)) return null;
    const { key, keyHash } = mintLinkToken();
    const stored = await this.repository.replace(tx, user.id, user.email, keyHash);
    return stored ? `${this.config.publicAppUrl}/reset-password?token=${key}` : null;
  }
}

/**
 * Only who could sign in with a password, were it known, may choose another. An account without one signs in elsewhere:
 * a mailbox alone does not open a second way into it.
 */
export const mayReset = ({ status, passwordHash, memberships }: User): boolean =>
  status === 'active' && passwordHash !== null && memberships.some(tenantIsActive);
