import type { OrganizationDirectory, PartnerDirectory } from '@rmm/access';
import type { OutboxTransaction } from '@rmm/messaging';
import { Logger } from '@rmm/service-kit';
import { eventually } from '@rmm/testing-services';
import type { SubscriptionIndexService } from './subscription-index.service.js';
import { TenantChangesService } from './tenant-changes.service.js';

describe('TenantChangesService', () => {
  let calls: string[];
  let isOwnerAway: boolean;
  let changes: TenantChangesService;

  const find = (id: string) => {
    calls.push(`read ${id}`);
    return isOwnerAway ? Promise.reject(new Error('away')) : Promise.resolve(null);
  };

  beforeEach(() => {
    calls = [];
    isOwnerAway = false;
    const index = {
      hasWebhooks: (orgId: string) => orgId !== 'without webhooks',
      refreshTenants: () => Promise.resolve(void calls.push('refresh')),
    };
    const logger = Logger.create({ service: 'webhook-dispatcher', level: 'error', sink: { write: () => undefined } });
    const directory = { find };
    changes = new TenantChangesService(
      directory as unknown as OrganizationDirectory,
      directory as unknown as PartnerDirectory,
      index as unknown as SubscriptionIndexService,
      logger,
    );
  });

  it('reads changed tenants with webhooks from their owners before it decides what waits', async () => {
    changes.tenantsOutdated({ partnerIds: ['p'], orgIds: ['o', 'without webhooks'] });
    await eventually(() => expect(calls).toEqual(['read p', 'read o', 'refresh']));
  });

  it('decides what waits once a change is committed', async () => {
    const committed: (() => void)[] = [];
    await changes.tenantsStored({
      afterCommit: (work: () => void) => committed.push(work),
    } as never as OutboxTransaction);
    expect(calls).toEqual([]);
    committed.forEach((work) => work());
    await eventually(() => expect(calls).toEqual(['refresh']));
  });

  it('goes on with the next change after an owner could not be reached', async () => {
    isOwnerAway = true;
    changes.tenantsOutdated({ orgIds: ['o'] });
    await eventually(() => expect(calls).toEqual(['read o']));
    isOwnerAway = false;
    changes.tenantsOutdated({ orgIds: ['o'] });
    await eventually(() => expect(calls).toEqual(['read o', 'read o', 'refresh']));
  });
});
