import { Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import type { TenantTransaction } from '@rmm/persistence';
import { AccessChangesService } from '../access/access-changes.service.js';
import { MailService, type NewMail } from '../mail/mail.service.js';
import { SsoIdentitiesRepository, type RemovedIdentity } from './sso-identities.repository.js';
import type { SsoProvider } from './sso-provider.entity.js';
import { SsoProvidersRepository } from './sso-providers.repository.js';

/** Ends the sessions and identities that a change of a provider makes invalid. @see docs/reference/sso.md */
@Injectable()
export class SsoProviderChangesService {
  constructor(
    private readonly providers: SsoProvidersRepository,
    private readonly identities: SsoIdentitiesRepository,
    private readonly accessChanges: AccessChangesService,
    private readonly mail: MailService,
  ) {}

  /** Ends the sessions that a provider opened. @returns the number of their users */
  async endSessions(tx: TenantTransaction, providerId: string): Promise<number> {
    const userIds = await this.providers.endSessions(tx, providerId);
    if (userIds.length > 0) await this.accessChanges.publish(tx, { userIds, reason: 'sso_provider_ended' });
    return userIds.length;
  }

  /** Ends the sessions of members who did not sign in by this way once it becomes the only one; the caller's stays until its refresh. */
  async enforce(tx: TenantTransaction, caller: UserCaller, before: SsoProvider, after: SsoProvider): Promise<void> {
    if (after.orgId === null || !isEnforced(after) || isEnforced(before)) return;
    const userIds = await this.providers.endOtherSessions(tx, after.orgId, caller.sessionId);
    if (userIds.length > 0) await this.accessChanges.publish(tx, { userIds, reason: 'sso_enforced' });
  }

  /**
   * Removes the identities of the former issuer, whose subjects may be other users at the new one, and ends the
   * sessions that it opened. The members concerned are informed by mail.
   * @param provider  as it was before the change
   * @returns the details of the audit entry
   */
  async replaceIssuer(
    tx: TenantTransaction,
    { id, name, issuer }: SsoProvider,
  ): Promise<{ formerIssuer: string | null; removedIdentities: number; endedUsers: number }> {
    const removed = await this.identities.removeAll(tx, id);
    const endedUsers = await this.endSessions(tx, id);
    await this.mail.addAll(
      tx,
      removed.flatMap((identity) => toMail(identity, name)),
    );
    return { formerIssuer: issuer, removedIdentities: removed.length, endedUsers };
  }
}

const isEnforced = ({ status, enforceSso }: SsoProvider): boolean => status === 'active' && enforceSso;

const toMail = ({ email, name }: RemovedIdentity, providerName: string): NewMail[] =>
  email === null ? [] : [{ to: email, template: 'sso-unlinked', values: { name, providerName } }];
