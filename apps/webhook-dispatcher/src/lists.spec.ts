import { randomUUID } from 'node:crypto';
import supertest from 'supertest';
import { TenantDatabase } from '@rmm/persistence';
import { StatementPlans } from '@rmm/persistence/testing';
import { ignoredParameters, listOperations, listProblems, type ListOperation } from '@rmm/testing/openapi';
import { DispatcherTestApp } from '../test/dispatcher-test-app.js';
import type { Organization } from '../test/dispatcher-test-cluster.js';
import { SCHEMA } from '../test/dispatcher-test-database.js';

jest.setTimeout(120_000);

const [WEBHOOK, DELIVERY, PARTNER_WEBHOOK, PARTNER_DELIVERY] = Array.from({ length: 4 }, () => randomUUID());

/**
 * Webhooks of 2,000 organizations and of 100 partners with deliveries and dead letters; those of one organization and of its
 * partner have known ids.
 */
const seedOf = ({ partnerId, orgId }: Organization) => `
  SET session_replication_role = replica;
  INSERT INTO webhook (id, partner_id, org_id, name, url_sealed, events, status)
  SELECT CASE n WHEN 1 THEN '${WEBHOOK}' ELSE gen_random_uuid() END, p.id,
    CASE n WHEN 1 THEN '${orgId}' ELSE gen_random_uuid() END, 'Hook', 'sealed', '{device.*}', 'disabled'
  FROM (SELECT '${partnerId}'::uuid UNION ALL SELECT gen_random_uuid() FROM generate_series(1, 199)) p(id),
    generate_series(1, 20) n WHERE n > 1 OR p.id = '${partnerId}';
  INSERT INTO webhook (id, partner_id, name, url_sealed, events, status)
  SELECT CASE partner_id WHEN '${partnerId}' THEN '${PARTNER_WEBHOOK}' ELSE gen_random_uuid() END, partner_id, 'Hook', 'sealed',
    '{device.*}', 'disabled' FROM (SELECT DISTINCT partner_id FROM webhook) p;
  INSERT INTO webhook_counter (webhook_id, partner_id, org_id) SELECT id, partner_id, org_id FROM webhook;
  INSERT INTO delivery (id, created_at, partner_id, org_id, webhook_id, event_type, event_id, status, max_attempts)
  SELECT gen_random_uuid(), now() - n * interval '1 minute', partner_id, org_id, id, 'device.online',
    gen_random_uuid()::text, 'failed', 5 FROM webhook, generate_series(1, 10) n
  UNION ALL
  SELECT '${DELIVERY}', now(), partner_id, org_id, id, 'device.online', 'e', 'failed', 5 FROM webhook
  WHERE id = '${WEBHOOK}'
  UNION ALL
  SELECT '${PARTNER_DELIVERY}', now(), partner_id, org_id, id, 'device.online', 'e', 'failed', 5 FROM webhook
  WHERE id = '${PARTNER_WEBHOOK}';
  INSERT INTO attempt (delivery_id, created_at, partner_id, org_id, attempt, started_at)
  SELECT id, created_at, partner_id, org_id, 1, now() FROM delivery;
  INSERT INTO dead_letter (delivery_id, failed_at, created_at, partner_id, org_id, webhook_id, event_type, event_id, attempts)
  SELECT id, now(), created_at, partner_id, org_id, webhook_id, event_type, event_id, 5 FROM delivery;
  SET session_replication_role = DEFAULT;
  ANALYZE`;

describe('lists of webhook-dispatcher', () => {
  let service: DispatcherTestApp;
  let organization: Organization;
  let plans: StatementPlans;
  let operations: ListOperation[];

  beforeAll(async () => {
    service = await DispatcherTestApp.start({ GLOBAL_RATE_LIMIT_PER_MINUTE: '100000' });
    organization = await service.cluster.organization();
    await service.cluster.admin.query(seedOf(organization));
    const { body } = await supertest(service.app.getHttpServer()).get('/openapi.json');
    operations = listOperations(body as never, {
      id: WEBHOOK,
      webhookId: WEBHOOK,
      deliveryId: DELIVERY,
      'orgId!': organization.orgId,
      'partnerId!': organization.partnerId,
    });
    const { service: url } = service.cluster.database.urls[SCHEMA];
    plans = await StatementPlans.record(service.app.get(TenantDatabase, { strict: false }), { url, schema: SCHEMA });
  });

  afterAll(async () => {
    await plans?.stop();
    await service.stop();
  });

  /** Names the webhook and the delivery of the partner in its routes. */
  const get = (token: string) => (path: string) => {
    const named = path.startsWith('/partner-webhooks')
      ? path.replaceAll(WEBHOOK, PARTNER_WEBHOOK).replaceAll(DELIVERY, PARTNER_DELIVERY)
      : path;
    return supertest(service.app.getHttpServer()).get(`/api/v1${named}`).set('Authorization', token);
  };

  const tokenOf = (caller: string): string => {
    const { identity } = service;
    const { orgId, partnerId } = organization;
    const others = Array.from({ length: 999 }, () => randomUUID());
    if (caller === 'system') return identity.operator();
    if (caller === 'partner, all organizations') return identity.partner(partnerId);
    if (caller === 'partner, one selected organization') return identity.partnerOf([orgId], partnerId);
    if (caller === 'partner, 1,000 selected organizations') return identity.partnerOf([orgId, ...others], partnerId);
    return identity.member(organization, undefined, caller === 'organization' ? undefined : [randomUUID()]);
  };

  it.each([
    'system',
    'partner, all organizations',
    'partner, one selected organization',
    'partner, 1,000 selected organizations',
    'organization',
    'organization, one site',
  ])('reads each list through an index: %s', async (caller) => {
    expect(operations.length).toBeGreaterThan(3);
    const isSystem = caller === 'system';
    expect(await listProblems(operations, plans, get(tokenOf(caller)), { isSystem })).toEqual([]);
  });

  it('refuses filters, orders and cursors that a list does not serve', async () => {
    const [member, partner] = [tokenOf('organization'), tokenOf('partner, all organizations')];
    const getAllowed = (path: string) => get(path.startsWith('/partner-webhooks') ? partner : member)(path);
    expect(await ignoredParameters(operations, getAllowed)).toEqual([]);
  });
});
