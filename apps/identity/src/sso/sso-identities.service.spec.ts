import { randomUUID } from 'node:crypto';
import { MfaRequired, type UserCaller } from '@rmm/access';
import { NotFoundError } from '@rmm/service-kit';
import { organizationCaller } from '../../test/callers.js';
import { buildMembership, buildProvider, buildUser, fakeWorker, FakeAudit } from '../../test/fakes.js';
import type { AccessChangesService } from '../access/access-changes.service.js';
import type { MailService } from '../mail/mail.service.js';
import type { AccountProofs, AccountProofsService } from '../passwords/account-proofs.service.js';
import type { SessionsService } from '../sessions/sessions.service.js';
import type { User } from '../users/user.types.js';
import type { AssertedUser } from './asserted-user.js';
import type { TakenFlow } from './sso-flows.repository.js';
import type { SsoIdentitiesRepository } from './sso-identities.repository.js';
import { SsoIdentitiesService } from './sso-identities.service.js';
import { SsoLinksService } from './sso-links.service.js';
import type { SsoProvider } from './sso-provider.entity.js';
import type { SsoProvidersRepository } from './sso-providers.repository.js';
import type { SsoReauthGrantsService } from './sso-reauth-grants.service.js';
import { LastSignInMethod } from './sso.errors.js';

const PASSWORD = 'correct';

describe('SsoIdentitiesService', () => {
  const identityId = randomUUID();
  let provider: SsoProvider;
  let user: User;
  let caller: UserCaller;
  let isSessionActive: boolean;
  let isUnchanged: boolean;
  let linkedTo: string | null;
  let ended: unknown[];
  let published: unknown[];
  let mails: string[];
  let audit: FakeAudit;

  beforeEach(() => {
    provider = buildProvider();
    const memberships = [buildMembership({ partnerId: provider.partnerId, orgId: provider.orgId })];
    user = buildUser({ passwordHash: 'hash', memberships });
    caller = organizationCaller(provider.partnerId, provider.orgId ?? '', user.id);
    [isSessionActive, isUnchanged, linkedTo, ended, published, mails, audit] = [
      true,
      true,
      null,
      [],
      [],
      [],
      new FakeAudit(),
    ];
  });

  const start = () => {
    const identities = {
      list: () => Promise.resolve({ rows: [listed(provider.orgId), listed(null)], total: 2 }),
      findUserId: () => Promise.resolve(linkedTo),
      link: (_: unknown, { userId }: { userId: string }) => {
        linkedTo ??= userId;
        return Promise.resolve(linkedTo === userId ? 'linked' : 'taken');
      },
      remove: (_: unknown, userId: string, id: string) =>
        Promise.resolve(
          userId === user.id && id === identityId ? { providerId: provider.id, providerName: 'Entra' } : null,
        ),
      endSessions: (_: unknown, sessions: unknown, except: string) => {
        ended.push({ sessions, except });
        return Promise.resolve([user.id]);
      },
    } as unknown as SsoIdentitiesRepository;
    const accessChanges = {
      publish: (_: unknown, change: unknown) => Promise.resolve(published.push(change)),
    } as unknown as AccessChangesService;
    const mail = { add: (_: unknown, { template }: { template: string }) => Promise.resolve(mails.push(template)) };
    return new SsoIdentitiesService(
      fakeWorker,
      identities,
      {
        find: (id: string) => Promise.resolve(id === provider.id ? provider : null),
        lockUnchanged: () => Promise.resolve(isUnchanged),
      } as unknown as SsoProvidersRepository,
      {
        getUser: () => Promise.resolve({ user }),
        findActive: () => Promise.resolve(isSessionActive ? user : null),
      } as unknown as SessionsService,
      {
        use: (_: unknown, __: unknown, { currentPassword }: AccountProofs) =>
          currentPassword === PASSWORD ? Promise.resolve() : Promise.reject(new Error('wrong password')),
      } as unknown as AccountProofsService,
      { create: () => Promise.resolve('grant') } as unknown as SsoReauthGrantsService,
      new SsoLinksService(identities, accessChanges, audit.asTrail, mail as unknown as MailService),
      audit.asTrail,
    );
  };
  const listed = (orgId: string | null) => ({
    ...{ id: identityId, providerId: provider.id, providerName: 'Entra', email: null, orgId },
    ...{ createdAt: new Date(0), lastLoginAt: null },
  });
  const asserted = { subject: 'subject', email: 'robin@users.test' } as AssertedUser;
  const flow = (purpose: TakenFlow['purpose']) =>
    ({ purpose, userId: user.id, sessionId: caller.sessionId, providerId: provider.id }) as TakenFlow;

  it('lists identities with the kind of their owner', async () => {
    const { data } = await start().list(caller, { page: 1, limit: 10 });
    expect(data).toEqual([
      expect.objectContaining({ ownerScope: 'organization', createdAt: '1970-01-01T00:00:00.000Z', lastLoginAt: null }),
      expect.objectContaining({ ownerScope: 'partner', orgId: null }),
    ]);
  });

  describe('getLinkable', () => {
    const getLinkable = (currentPassword = PASSWORD) => start().getLinkable(caller, provider.id, { currentPassword });

    it('returns a provider of a tenant of the user, and audits the start', async () => {
      expect(await getLinkable()).toBe(provider);
      expect(audit.entries).toMatchObject([
        { action: 'sso.identity.link_started', resource: { id: user.id }, details: { providerId: provider.id } },
      ]);
    });

    it.each<[string, () => unknown]>([
      ['unknown', () => (provider = { ...provider, id: randomUUID() })],
      ['not active', () => (provider.status = 'testing')],
      ['of an organization that the user is no member of', () => (user.memberships = [])],
    ])('finds no provider that is %s', async (_title, change) => {
      const { id } = provider;
      change();
      await expect(start().getLinkable(caller, id, { currentPassword: PASSWORD })).rejects.toThrow(NotFoundError);
    });

    it('needs the password, and the factor of a user who has one', async () => {
      await expect(getLinkable('wrong')).rejects.toThrow('wrong password');
      user.mfaEnabled = true;
      caller = { ...caller, mfa: false };
      await expect(getLinkable()).rejects.toThrow(MfaRequired);
      expect(audit.entries).toEqual([]);
    });
  });

  it('links nothing when the provider was changed while it was called', async () => {
    isUnchanged = false;
    const linking = start().complete(flow('link'), provider, asserted);
    await expect(linking).rejects.toMatchObject({ code: 'sso_config_changed' });
    expect([linkedTo, audit.entries]).toEqual([null, []]);
  });

  describe('unlink', () => {
    const unlink = (id = identityId, password: string | undefined = PASSWORD) => start().unlink(caller, id, password);

    it('ends the sessions of the provider but the current one, and invalidates them', async () => {
      await unlink();
      const sessions = { providerId: provider.id, userId: user.id, sid: null };
      expect(ended).toEqual([{ sessions, except: caller.sessionId }]);
      expect(published).toEqual([{ userIds: [user.id], reason: 'sso_unlinked' }]);
      expect(mails).toEqual(['sso-unlinked']);
      expect(audit.entries).toMatchObject([{ action: 'sso.identity.unlinked', details: { providerId: provider.id } }]);
    });

    it('keeps the only way to sign in', async () => {
      user.passwordHash = null;
      await expect(unlink()).rejects.toThrow(LastSignInMethod);
    });

    it('refuses an identity of another user and a wrong password', async () => {
      await expect(unlink(randomUUID())).rejects.toThrow(NotFoundError);
      await expect(unlink(identityId, 'wrong')).rejects.toThrow('wrong password');
      expect([ended, published, audit.entries]).toEqual([[], [], []]);
    });
  });

  describe('complete', () => {
    const complete = (of: TakenFlow) => start().complete(of, provider, asserted);

    it('links the identity to the user whose session began it', async () => {
      expect(await complete(flow('link'))).toBe('ssoLinked=true');
      expect(linkedTo).toBe(user.id);
      expect(mails).toEqual(['sso-linked']);
      expect(audit.entries).toMatchObject([{ action: 'sso.identity.linked', caller: { actor: { id: user.id } } }]);
    });

    it('refuses the identity of another user', async () => {
      linkedTo = randomUUID();
      await expect(complete(flow('link'))).rejects.toMatchObject({ code: 'identity_in_use' });
      await expect(complete(flow('reauth'))).rejects.toMatchObject({ code: 'session_invalid' });
      expect(audit.entries).toEqual([]);
    });

    it('grants a reauthentication to the owner of the identity', async () => {
      linkedTo = user.id;
      expect(await complete(flow('reauth'))).toBe('ssoReauthGrant=grant');
      expect(audit.actions).toEqual(['sso.reauth.granted']);
    });

    it.each<[string, (of: TakenFlow) => unknown]>([
      ['the session has ended', () => (isSessionActive = false)],
      ['the membership has ended', () => (user.memberships = [])],
      ['it names no user', (of) => (of.userId = null)],
      ['it names no session', (of) => (of.sessionId = null)],
    ])('refuses a login when %s', async (_title, change) => {
      const begun = flow('link');
      change(begun);
      await expect(complete(begun)).rejects.toMatchObject({ code: 'session_invalid' });
      expect(linkedTo).toBeNull();
    });
  });
});
