import type { UserCaller } from '@rmm/access';
import type { AuditTrail, Outbox } from '@rmm/messaging';
import type { WorkerDatabase, WorkerTransaction } from '@rmm/persistence';
import type { InvitationLinkPolicy } from '../invitations/invitation-link.policy.js';
import type { InvitationLinksService } from '../invitations/invitation-links.service.js';
import type { InvitationSenderService } from '../invitations/invitation-sender.service.js';
import type { InvitationsRepository } from '../invitations/invitations.repository.js';
import { PartnerProvisioningService } from './partner-provisioning.service.js';
import type { NewPartner, PartnersRepository } from './partners.repository.js';

const actor = { type: 'user', id: 'u1', email: 'admin@users.test' } as UserCaller['actor'];

describe('PartnerProvisioningService', () => {
  const tx = {} as WorkerTransaction;
  let taken: string[];
  let published: Record<string, unknown>[];

  const provisioning = () =>
    new PartnerProvisioningService(
      {
        lockSlugs: async () => undefined,
        listTakenSlugs: async () => taken,
        insertUnlessTaken: async (_: unknown, { name, slug }: NewPartner) => ({
          id: 'p1',
          name,
          slug,
          status: 'active',
        }),
        copyAdminRole: async () => 'r1',
      } as unknown as PartnersRepository,
      {
        invite: async () => ({ userId: 'u2', inviteEmailSent: true, url: null }),
      } as unknown as InvitationSenderService,
      {
        withAccount: async (_: string, work: (account: null) => Promise<unknown>) => work(null),
      } as unknown as InvitationsRepository,
      { mayMail: async () => true } as unknown as InvitationLinksService,
      { toDelivery: async () => ({ inviteEmailSent: true }) } as unknown as InvitationLinkPolicy,
      { transaction: (work: (tx: WorkerTransaction) => Promise<unknown>) => work(tx) } as unknown as WorkerDatabase,
      {
        publish: async (_: unknown, message: Record<string, unknown>) => void published.push(message),
      } as unknown as Outbox,
      { record: async () => undefined } as unknown as AuditTrail,
    );

  beforeEach(() => {
    taken = [];
    published = [];
  });

  it('creates a partner with its admin role and publishes partner.created', async () => {
    const partner = await provisioning().provision(tx, { name: 'Acme MSP', createsFirstOrganization: true, actor });
    expect(partner).toEqual({ id: 'p1', name: 'Acme MSP', slug: 'acme-msp', status: 'active', adminRoleId: 'r1' });
    expect(published).toEqual([
      expect.objectContaining({
        type: 'partner.created',
        aggregateId: 'p1',
        data: expect.objectContaining({ slug: 'acme-msp', createFirstOrganization: true, timezone: 'UTC' }),
      }),
    ]);
  });

  it('numbers a slug that is taken', async () => {
    taken = ['acme', 'acme-2'];
    const partner = await provisioning().provision(tx, { name: 'Acme', createsFirstOrganization: false, actor });
    expect(partner.slug).toBe('acme-3');
  });

  it('invites the first administrator', async () => {
    const dto = { name: 'Acme', admin: { email: 'admin@users.test', name: 'Robin' } };
    const created = await provisioning().provisionWithAdmin({ actor, userId: 'u1' } as UserCaller, dto);
    expect(created).toEqual({ id: 'p1', invite: { userId: 'u2', inviteEmailSent: true } });
  });
});
