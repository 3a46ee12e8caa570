import type { INestApplication } from '@nestjs/common';
import { WorkerDatabase } from '@rmm/persistence';
import { countReads, explainStatements } from '@rmm/persistence/testing';
import { eventually } from '@rmm/testing-services';
import { createWebhook, DispatcherTestCluster, type Organization } from '../../test/dispatcher-test-cluster.js';
import { FakeReceiver } from '../../test/fake-receiver.js';
import { SubscriptionIndexService } from './subscription-index.service.js';
import { SubscriptionsRepository } from './subscriptions.repository.js';

describe('SubscriptionsRepository', () => {
  let cluster: DispatcherTestCluster;
  let app: INestApplication;
  let receiver: FakeReceiver;
  let organization: Organization;

  beforeAll(async () => {
    cluster = await DispatcherTestCluster.open({ logins: true });
    receiver = await FakeReceiver.start();
    app = await cluster.start();
  });

  beforeEach(async () => {
    organization = await cluster.organization();
    receiver.received.length = 0;
  });

  afterAll(async () => {
    await receiver.stop();
    await cluster.close();
  });

  const setOrganization = (assignment: string) =>
    cluster.rows(`update organization_directory set ${assignment} where org_id = $1`, [organization.orgId]);
  const setPartner = (status: string) =>
    cluster.rows(
      `insert into partner_directory (partner_id, status, version) values ($1, $2, 1)
       on conflict (partner_id) do update set status = excluded.status`,
      [organization.partnerId, status],
    );
  const isResting = async () =>
    (await new SubscriptionsRepository(app.get(WorkerDatabase)).listRestingOrganizations()).has(organization.orgId);

  it.each([
    ['active', false],
    ['suspended', true],
  ])('lists a partner with a webhook of its own when it is not active: %s', async (status, isListed) => {
    await setPartner(status);
    await cluster.rows(`INSERT INTO webhook (partner_id, name, url_sealed, events) VALUES ($1, 'Hook', 'x', '{*}')`, [
      organization.partnerId,
    ]);
    const resting = await new SubscriptionsRepository(app.get(WorkerDatabase)).listRestingOrganizations();
    expect(resting.has(organization.partnerId)).toBe(isListed);
    expect(resting.has(organization.orgId)).toBe(false);
  });

  it.each(['active', 'trial'])('lists no organization that is %s', async (status) => {
    await createWebhook(app, organization, receiver.url);
    await setOrganization(`status = '${status}'`);
    await setPartner('active');
    expect(await isResting()).toBe(false);
  });

  it.each([`status = 'suspended'`, `status = 'churned'`, 'deleted = true'])(
    'lists an organization with %s',
    async (assignment) => {
      await createWebhook(app, organization, receiver.url);
      await setOrganization(assignment);
      expect(await isResting()).toBe(true);
    },
  );

  it('lists the organizations of a partner that is not active', async () => {
    await createWebhook(app, organization, receiver.url);
    await setPartner('suspended');
    expect(await isResting()).toBe(true);
    const sibling = await cluster.organization(organization.partnerId);
    const resting = await new SubscriptionsRepository(app.get(WorkerDatabase)).listRestingOrganizations();
    expect(resting.has(sibling.orgId)).toBe(false); // without a webhook
  });

  it('reads the tenants that are not active, not the others', async () => {
    await cluster.rows(
      `INSERT INTO organization_directory (org_id, partner_id, name, slug, status, version)
       SELECT gen_random_uuid(), gen_random_uuid(), 'Org', 'org', 'active', 1 FROM generate_series(1, 3000)`,
    );
    await cluster.rows(
      `INSERT INTO partner_directory (partner_id, status, version)
       SELECT gen_random_uuid(), 'active', 1 FROM generate_series(1, 3000)`,
    );
    await cluster.rows(
      `INSERT INTO webhook (partner_id, org_id, name, url_sealed, events, status)
       SELECT partner_id, org_id, 'Hook', 'x', '{*}', 'disabled' FROM organization_directory`,
    );
    await cluster.rows('ANALYZE organization_directory, partner_directory, webhook');
    await app.get(WorkerDatabase).transaction(async (tx) => {
      const { explaining, plans } = explainStatements(tx);
      await new SubscriptionsRepository(explaining as unknown as WorkerDatabase).listRestingOrganizations();
      expect(countReads(plans[0])).toBeLessThan(500);
    });
  });

  it('stores the deliveries of a suspended partner and sends them when it is active again', async () => {
    const webhook = await createWebhook(app, organization, receiver.url);
    const { partnerId } = organization;
    cluster.partners.add({ partnerId, status: 'suspended', version: 2 });
    await setPartner('suspended');
    expect(await isResting()).toBe(true);
    await app.get(SubscriptionIndexService).refreshAll();
    await cluster.emit(organization);
    await eventually(async () =>
      expect(await cluster.deliveries(webhook.id)).toMatchObject([{ status: 'pending', attempt: 0 }]),
    );
    expect(receiver.received).toHaveLength(0);
    cluster.partners.add({ partnerId, status: 'active', version: 3 });
    await setPartner('active');
    await app.get(SubscriptionIndexService).refreshAll();
    await eventually(async () => expect(await cluster.deliveries(webhook.id)).toMatchObject([{ status: 'delivered' }]));
  });
});
