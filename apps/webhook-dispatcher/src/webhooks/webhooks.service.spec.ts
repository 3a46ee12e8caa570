import { randomUUID } from 'node:crypto';
import { OrganizationAccessDenied, type OrganizationDirectory, type UserCaller } from '@rmm/access';
import type { AuditTrail, Outbox } from '@rmm/messaging';
import type { TenantDatabase } from '@rmm/persistence';
import { organizationCaller, type Organization } from '../../test/organizations.js';
import type { PurgeDeletedWebhooksJob } from '../background/purge-deleted-webhooks.job.js';
import type { WebhookSettingsService } from './webhook-settings.service.js';
import type { Webhook } from './webhook.entity.js';
import { OrganizationContextRequired, TooManyWebhooks, WebhookNotFound } from './webhook.errors.js';
import type { WebhookMapper } from './webhook.mapper.js';
import type { WebhooksRepository } from './webhooks.repository.js';
import { WebhooksService } from './webhooks.service.js';

const INPUT = { name: 'Hook', url: 'https://hooks.test/', events: ['device.*'] };

describe('WebhooksService', () => {
  let organization: Organization;
  let caller: UserCaller;
  let row: Webhook;
  let count: number;
  /** Calls in their order. */
  let steps: string[];
  let audited: { action: string; details: unknown }[];
  let published: { data: unknown }[];

  beforeEach(() => {
    organization = { orgId: randomUUID(), partnerId: randomUUID() };
    caller = organizationCaller(organization);
    row = { id: randomUUID(), ...organization, name: 'Hook', events: ['device.*'] } as Webhook;
    [count, steps, audited, published] = [0, [], [], []];
  });

  const step = <T>(name: string, value?: T): Promise<T> => {
    steps.push(name);
    return Promise.resolve(value as T);
  };
  const find = (id: string) => (id === row.id ? Promise.resolve(row) : Promise.reject(new WebhookNotFound()));
  const start = () =>
    new WebhooksService(
      {
        transaction: async (_: unknown, work: (tx: unknown) => Promise<unknown>) => {
          const committed: (() => void)[] = [];
          const result = await work({ afterCommit: (then: () => void) => committed.push(then) });
          steps.push('commit');
          for (const then of committed) then();
          return result;
        },
      } as unknown as TenantDatabase,
      {
        get: (_: unknown, id: string) => find(id),
        lock: (_: unknown, id: string) => step('lock').then(() => find(id)),
        list: (_: unknown, query: object) => step(`list ${JSON.stringify(query)}`, { rows: [row], total: 1 }),
        countForLimit: () => step('count', count),
        create: (_: unknown, values: object) => step('insert', { ...row, ...values }),
        change: (_: unknown, stored: Webhook, settings: object) => step('change', { ...stored, ...settings }),
        resetFailingSince: () => step('reset'),
        deleteWebhook: () => step('delete'),
      } as unknown as WebhooksRepository,
      {
        assertOrganizationAccess: (_: unknown, orgId: string) =>
          orgId === organization.orgId ? Promise.resolve(organization) : Promise.reject(new OrganizationAccessDenied()),
      } as unknown as OrganizationDirectory,
      {
        create: () => step('check', { urlSealed: 'sealed' }),
        checkPatch: (_: unknown, patch: object) => step('check', patch),
        applyPatch: (_: unknown, patch: object) => patch,
      } as unknown as WebhookSettingsService,
      { toDto: (of: Webhook) => of, toDtoWithStats: (of: Webhook) => of } as unknown as WebhookMapper,
      {
        publish: (_: unknown, message: { data: unknown }) => Promise.resolve(published.push(message)),
      } as unknown as Outbox,
      {
        record: (...[, , action, , details]: unknown[]) =>
          Promise.resolve(audited.push({ action: String(action), details })),
      } as unknown as AuditTrail,
      { start: (id: string) => step(`purge ${id}`) } as unknown as PurgeDeletedWebhooksJob,
    );

  it('checks the settings before the transaction, then counts and inserts', async () => {
    expect(await start().create(caller, INPUT)).toMatchObject({ ...organization, urlSealed: 'sealed' });
    expect(steps).toEqual(['check', 'count', 'insert', 'commit']);
    expect(audited).toEqual([{ action: 'webhook.create', details: { events: ['device.*'] } }]);
    expect(published).toMatchObject([{ data: { isDeleted: false } }]);
  });

  it('stops at 100 webhooks of an organization', async () => {
    count = 99;
    await start().create(caller, INPUT);
    count = 100;
    await expect(start().create(caller, INPUT)).rejects.toThrow(TooManyWebhooks);
    expect(audited).toHaveLength(1);
  });

  it('audits the names of the fields that were given', async () => {
    await start().update(caller, row.id, { name: 'Renamed', description: undefined });
    expect(steps).toEqual(['check', 'lock', 'change', 'commit']);
    expect(audited).toEqual([{ action: 'webhook.update', details: { changed: ['name'] } }]);
    expect(published).toHaveLength(1);
  });

  it('restarts the period of failures when the webhook is set to active', async () => {
    await start().update(caller, row.id, { status: 'active' });
    await start().update(caller, row.id, { status: 'paused' });
    expect(steps.filter((each) => each === 'reset')).toHaveLength(1);
  });

  it('deletes a webhook at once and purges its history once that is committed', async () => {
    expect(await start().delete(caller, row.id)).toEqual({ success: true });
    expect(steps).toEqual(['lock', 'delete', 'commit', `purge ${row.id}`]);
    expect(audited).toMatchObject([{ action: 'webhook.delete' }]);
    expect(published).toMatchObject([{ data: { webhookId: row.id, isDeleted: true } }]);
  });

  it('audits and publishes nothing about an unknown webhook', async () => {
    const id = randomUUID();
    await expect(start().get(caller, id)).rejects.toThrow(WebhookNotFound);
    await expect(start().update(caller, id, { name: 'x' })).rejects.toThrow(WebhookNotFound);
    await expect(start().delete(caller, id)).rejects.toThrow(WebhookNotFound);
    expect([audited, published]).toEqual([[], []]);
  });

  describe('list', () => {
    const list = (orgId?: string, status?: 'paused') => start().list(caller, { page: 1, limit: 10, orgId, status });
    const asPartner = () => {
      caller = { ...caller, tenant: { ...caller.tenant, scope: 'partner', orgId: null, orgAccess: 'all' } };
    };

    it('uses the organization of the caller and the stored name of a status', async () => {
      expect((await list(undefined, 'paused')).data).toEqual([row]);
      expect(steps[0]).toContain(`"orgId":"${organization.orgId}","status":"disabled"`);
      await list(organization.orgId);
    });

    it('refuses another organization than that of the caller', async () => {
      await expect(list(randomUUID())).rejects.toThrow(OrganizationAccessDenied);
    });

    it('needs an organization of partners, which they have access to', async () => {
      asPartner();
      await expect(list()).rejects.toThrow(OrganizationContextRequired);
      await expect(list(randomUUID())).rejects.toThrow(OrganizationAccessDenied);
      expect((await list(organization.orgId)).data).toEqual([row]);
    });
  });
});
