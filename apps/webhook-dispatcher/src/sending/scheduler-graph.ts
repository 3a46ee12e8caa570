import { OrganizationNode, OriginNode, RouteNode, WebhookNode } from './scheduler-nodes.js';

export interface NodeLimits {
  perWebhook: number;
  perOrganization: number;
}

/** The nodes of all items that are queued or started. A node is created with its first item and removed with its last. */
export class SchedulerGraph<T> {
  readonly organizations = new Map<string, OrganizationNode<T>>();
  readonly origins = new Map<string, OriginNode<T>>();
  private readonly webhooks = new Map<string, WebhookNode<T>>();

  /** @param limitOf  returns the limit of an origin that has no node yet */
  constructor(
    private readonly limits: NodeLimits,
    private readonly limitOf: (origin: string) => number,
  ) {}

  /** Returns the node of a webhook. After a change of its origin it gets a new one, and the old one is emptied. */
  webhook(webhookId: string, orgId: string, origin: string): WebhookNode<T> {
    const known = this.webhooks.get(webhookId);
    if (known?.route.origin.origin === origin) return known;
    const webhook = new WebhookNode<T>(webhookId, this.route(orgId, origin), this.limits.perWebhook);
    webhook.route.webhooks.add(webhook);
    this.webhooks.set(webhookId, webhook);
    return webhook;
  }

  private route(orgId: string, origin: string): RouteNode<T> {
    const organization = this.organizations.get(orgId) ?? new OrganizationNode<T>(orgId, this.limits.perOrganization);
    this.organizations.set(orgId, organization);
    const known = organization.routes.get(origin);
    if (known) return known;
    const node = this.origins.get(origin) ?? new OriginNode<T>(origin, this.limitOf(origin));
    this.origins.set(origin, node);
    const route = new RouteNode(organization, node);
    organization.routes.set(origin, route);
    node.routes.add(route);
    return route;
  }

  /** Removes nodes without items. Queues may still contain them; they are skipped there. */
  removeIfUnused(webhook: WebhookNode<T>): void {
    const { webhookId, route, queued, concurrency } = webhook;
    if (queued > 0 || concurrency.active > 0) return;
    if (this.webhooks.get(webhookId) === webhook) this.webhooks.delete(webhookId);
    const { organization, origin, webhooks } = route;
    webhooks.delete(webhook);
    if (webhooks.size > 0) return;
    if (organization.routes.get(origin.origin) === route) organization.routes.delete(origin.origin);
    origin.routes.delete(route);
    if (origin.routes.size === 0 && this.origins.get(origin.origin) === origin) this.origins.delete(origin.origin);
    if (organization.routes.size === 0 && this.organizations.get(organization.orgId) === organization) {
      this.organizations.delete(organization.orgId);
    }
  }
}
