import { randomUUID } from 'node:crypto';
import { ApiClient, partnerWithMfa, type FleetHandle } from '@rmm/testing';
import type { PublishedEvent } from '../outages/event-publisher.js';
import { createWebhook, must } from '../steps.js';

const EVENT_TYPE = 'alert.triggered';
const CALLS_AT_ONCE = 8;

/** An organization with webhooks. */
export interface WebhookTenant {
  orgId: string;
  webhookIds: string[];
}

/** Creates organizations with webhooks, and deletes the webhooks again. */
export class WebhookTenants {
  private readonly created: { client: ApiClient; id: string }[] = [];

  constructor(private readonly fleet: FleetHandle) {}

  /** Creates a partner. @returns a client of its administrator */
  async addPartner(): Promise<ApiClient> {
    return (await partnerWithMfa(this.fleet)).client;
  }

  /** Creates an organization of the partner for each list of URLs, with a webhook to each of its URLs. */
  addOrganizations(partner: ApiClient, urls: readonly (readonly string[])[]): Promise<WebhookTenant[]> {
    const client = withNewAddress(partner);
    return mapConcurrently(urls, async (own) => {
      const { id: orgId } = must(await client.post('/orgs/organizations', { name: `Org ${randomUUID()}` }), 201);
      const webhookIds: string[] = [];
      for (const url of own) {
        const { id } = await createWebhook(client, orgId, { url, events: [EVENT_TYPE] });
        this.created.push({ client, id });
        webhookIds.push(id);
      }
      return { orgId, webhookIds };
    });
  }

  /** Deletes all webhooks, so that what still waits for them loads no later spec. */
  async deleteWebhooks(): Promise<void> {
    await mapConcurrently(this.created.splice(0), ({ client, id }) => withNewAddress(client).delete(`/webhooks/${id}`));
  }
}

/** Returns a client with the same credentials, and an address of its own, so that it meets no limit of earlier calls. */
const withNewAddress = ({ baseUrl, credentials }: ApiClient): ApiClient => new ApiClient(baseUrl, credentials);

/** Returns `count` events for each organization, in turns between them. */
export const eventsFor = (tenants: readonly WebhookTenant[], count: number, data: object = {}): PublishedEvent[] =>
  Array.from({ length: count }, () =>
    tenants.map(({ orgId }) => ({
      id: randomUUID(),
      type: EVENT_TYPE,
      orgId,
      data: { alertId: randomUUID(), severity: 'warning', title: 'Disk almost full', ...data },
    })),
  ).flat();

/** Maps with a few calls at a time. */
async function mapConcurrently<In, Out>(items: readonly In[], map: (item: In) => Promise<Out>): Promise<Out[]> {
  const results: Out[] = [];
  let next = 0;
  const loop = async () => {
    for (let i = next++; i < items.length; i = next++) results[i] = await map(items[i]);
  };
  await Promise.all(Array.from({ length: CALLS_AT_ONCE }, loop));
  return results;
}
