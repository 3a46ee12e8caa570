import { Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { AuditTrail } from '@rmm/messaging';
import type { WorkerTransaction } from '@rmm/persistence';
import { NotFoundError } from '@rmm/service-kit';
import { AccessChangesService } from '../access/access-changes.service.js';
import { selfCaller } from '../audit/actors.js';
import { MailService } from '../mail/mail.service.js';
import type { User } from '../users/user.types.js';
import type { AssertedUser } from './asserted-user.js';
import { SsoIdentitiesRepository, type LinkResult } from './sso-identities.repository.js';
import type { SsoProvider } from './sso-provider.entity.js';
import { SsoRefused } from './sso.errors.js';

type Identity = Pick<AssertedUser, 'subject' | 'email'>;

/**
 * Stores and removes links between users and their identities at providers, each with an audit entry. Users learn by mail
 * of every change of the ways into their account. @see docs/reference/sso.md
 */
@Injectable()
export class SsoLinksService {
  constructor(
    private readonly identities: SsoIdentitiesRepository,
    private readonly accessChanges: AccessChangesService,
    private readonly audit: AuditTrail,
    private readonly mail: MailService,
  ) {}

  /**
   * Links an identity to an existing account, by its address.
   * @throws SsoRefused when the user has another subject of the provider: an address that was given to another user is no proof
   */
  async link(tx: WorkerTransaction, provider: SsoProvider, user: User, identity: Identity): Promise<void> {
    const result = await this.store(tx, provider, user, identity);
    if (result === 'taken') throw new SsoRefused('sso_link_required', 'another identity of the provider');
    if (result === 'linked') await this.notify(tx, 'sso-linked', user, provider.name);
  }

  /** Links an identity to the account that was just created for it, without a mail. @throws SsoRefused */
  async linkCreated(tx: WorkerTransaction, provider: SsoProvider, user: User, identity: Identity): Promise<void> {
    const details = { created: true, roleId: provider.defaultRoleId };
    const result = await this.store(tx, provider, user, identity, details);
    if (result === 'taken') throw new SsoRefused('sso_link_required', 'another identity of the provider');
  }

  /** Links an identity at the request of the signed-in user. @throws SsoRefused when another user has it */
  async linkOwn(tx: WorkerTransaction, provider: SsoProvider, user: User, identity: Identity): Promise<void> {
    const result = await this.store(tx, provider, user, identity);
    if (result === 'taken') throw new SsoRefused('identity_in_use');
    if (result === 'linked') await this.notify(tx, 'sso-linked', user, provider.name);
  }

  /** Removes an identity and ends the sessions that its provider opened, but the caller's. @throws NotFoundError */
  async unlink(tx: WorkerTransaction, caller: UserCaller, user: User, id: string): Promise<void> {
    const removed = await this.identities.remove(tx, user.id, id);
    if (!removed) throw new NotFoundError('SSO identity');
    const { providerId, providerName } = removed;
    await this.identities.endSessions(tx, { providerId, userId: user.id, sid: null }, caller.sessionId);
    await this.accessChanges.publish(tx, { userIds: [user.id], reason: 'sso_unlinked' });
    await this.audit.record(tx, caller, 'sso.identity.unlinked', toResource(user), { providerId });
    await this.notify(tx, 'sso-unlinked', user, providerName);
  }

  private async store(
    tx: WorkerTransaction,
    provider: SsoProvider,
    user: User,
    { subject, email }: Identity,
    more: Record<string, unknown> = {},
  ): Promise<LinkResult> {
    const result = await this.identities.link(tx, { providerId: provider.id, subject, userId: user.id, email });
    if (result === 'linked') {
      const details = { providerId: provider.id, ...more };
      await this.audit.record(tx, selfCaller(user, provider), 'sso.identity.linked', toResource(user), details);
    }
    return result;
  }

  private async notify(
    tx: WorkerTransaction,
    template: 'sso-linked' | 'sso-unlinked',
    user: User,
    providerName: string,
  ): Promise<void> {
    const values = { name: user.name, providerName };
    await this.mail.add(tx, { to: user.email, template, values });
  }
}

const toResource = ({ id, name }: User) => ({ type: 'user', id, name });
