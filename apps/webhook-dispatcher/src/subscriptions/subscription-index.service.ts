import { Injectable } from '@nestjs/common';
import { Clock, Logger } from '@rmm/service-kit';
import { WebhookSealingService } from '../webhooks/webhook-sealing.service.js';
import { openSubscription, type Subscription, type SubscriptionRow } from './subscription.js';
import { SubscriptionsRepository } from './subscriptions.repository.js';

/**
 * Every active webhook of all tenants, in memory: matching an event is two look-ups.
 *
 * It follows the table, not the broadcasts: `refresh` before a batch loads whatever committed since the last look, so
 * that a webhook gets the first event after its creation on whatever replica that event arrives. The broadcast
 * `webhook.changed` only makes it hear of changes sooner.
 */
@Injectable()
export class SubscriptionIndexService {
  private readonly byId = new Map<string, Subscription>();
  private readonly byOrg = new Map<string, Map<string, Subscription>>();
  /** Active, but not to be opened: no event is matched, a held delivery fails its attempt. */
  private readonly broken = new Set<string>();
  private horizon = '0';
  private running: Promise<void> | null = null;
  private next: Promise<void> | null = null;

  constructor(
    private readonly repository: SubscriptionsRepository,
    private readonly sealing: WebhookSealingService,
    private readonly clock: Clock,
    private readonly logger: Logger,
  ) {}

  get size(): number {
    return this.byId.size;
  }

  /** Active webhooks of the organization that are subscribed to the type. */
  match(orgId: string, type: string): Subscription[] {
    const ofOrg = this.byOrg.get(orgId);
    return ofOrg ? [...ofOrg.values()].filter(({ types }) => types.has(type)) : [];
  }

  /** Null when the webhook is not active, or gone, or `isBroken`. */
  find(webhookId: string): Subscription | null {
    return this.byId.get(webhookId) ?? null;
  }

  isBroken(webhookId: string): boolean {
    return this.broken.has(webhookId);
  }

  /**
   * Takes in what changed. What had committed before the call is in the index afterwards: a look that is already
   * under way does not count, those who wait share the next one.
   */
  refresh(): Promise<void> {
    if (!this.running) return this.begin();
    this.next ??= this.running.then(
      () => this.begin(),
      () => this.begin(),
    );
    return this.next;
  }

  /** Deleted rows do not show as changed: forgets every webhook that is no longer there. */
  async forgetDeleted(): Promise<void> {
    const known = [...this.byId.keys(), ...this.broken];
    const active = await this.repository.activeIds();
    for (const id of known) if (!active.has(id)) this.remove(id);
  }

  /** A deletion that was broadcast. */
  forget(webhookId: string): void {
    this.remove(webhookId);
  }

  private begin(): Promise<void> {
    this.next = null;
    const running = this.load().finally(() => {
      if (this.running === running) this.running = null;
    });
    this.running = running;
    return running;
  }

  private async load(): Promise<void> {
    const { horizon, rows } = await this.repository.changedSince(this.horizon);
    // A horizon that went back is another database (a restored one): what we know may never have been there.
    const isRestored = BigInt(horizon) < BigInt(this.horizon);
    this.horizon = isRestored ? '0' : horizon;
    for (const row of rows) this.put(row);
    if (isRestored) {
      await this.load();
      await this.forgetDeleted();
    }
  }

  private put(row: SubscriptionRow): void {
    this.remove(row.id);
    if (row.status !== 'active') return;
    try {
      const subscription = openSubscription(row, this.sealing, this.clock.nowMs());
      this.byId.set(row.id, subscription);
      const ofOrg = this.byOrg.get(row.org_id) ?? new Map<string, Subscription>();
      this.byOrg.set(row.org_id, ofOrg.set(row.id, subscription));
    } catch (err) {
      this.broken.add(row.id);
      this.logger.error(
        { err, alert: 'webhook_undecipherable', webhookId: row.id, orgId: row.org_id },
        'A webhook cannot be opened and is skipped',
      );
    }
  }

  private remove(webhookId: string): void {
    this.broken.delete(webhookId);
    const known = this.byId.get(webhookId);
    if (!known) return;
    this.byId.delete(webhookId);
    const ofOrg = this.byOrg.get(known.orgId);
    ofOrg?.delete(webhookId);
    if (ofOrg?.size === 0) this.byOrg.delete(known.orgId);
  }
}
