import { Injectable } from '@nestjs/common';
import { Clock, Logger } from '@rmm/service-kit';
import { WebhookSealingService } from '../webhooks/webhook-sealing.service.js';
import { openSubscription, type Subscription, type SubscriptionRow } from './subscription.mapper.js';
import { SubscriptionsRepository } from './subscriptions.repository.js';

/**
 * The active webhooks of all tenants in memory, so that matching an event is two look-ups.
 *
 * It follows the table: `refresh` before each batch loads what committed since the last one, so that a webhook receives
 * the first event after its creation on every replica. The broadcast `webhook.changed` only shortens the delay.
 */
@Injectable()
export class SubscriptionIndexService {
  private readonly byId = new Map<string, Subscription>();
  private readonly byOrg = new Map<string, Map<string, Subscription>>();
  /** Active, but sealed with a missing key: no event matches, and attempts of leased deliveries fail. */
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

  /** Returns the active webhooks of an organization that are subscribed to a type. */
  match(orgId: string, type: string): Subscription[] {
    const ofOrg = this.byOrg.get(orgId);
    return ofOrg ? [...ofOrg.values()].filter(({ types }) => types.has(type)) : [];
  }

  /** Returns null when the webhook is not active, deleted, or `isBroken`. */
  find(webhookId: string): Subscription | null {
    return this.byId.get(webhookId) ?? null;
  }

  isBroken(webhookId: string): boolean {
    return this.broken.has(webhookId);
  }

  /**
   * Loads what has changed. Everything committed before the call is in the index afterwards; a load that is already
   * running does not suffice, and callers that wait share the next one.
   */
  refresh(): Promise<void> {
    if (!this.running) return this.startLoad();
    this.next ??= this.running.then(
      () => this.startLoad(),
      () => this.startLoad(),
    );
    return this.next;
  }

  /** Removes webhooks that are no longer stored, since a deleted row does not appear as changed. */
  async removeDeleted(): Promise<void> {
    const known = [...this.byId.keys(), ...this.broken];
    const active = await this.repository.listActiveIds();
    for (const id of known) if (!active.has(id)) this.remove(id);
  }

  private startLoad(): Promise<void> {
    this.next = null;
    const running = this.load().finally(() => {
      if (this.running === running) this.running = null;
    });
    this.running = running;
    return running;
  }

  private async load(): Promise<void> {
    const { horizon, rows } = await this.repository.listChangedSince(this.horizon);
    // An older horizon is that of a restored database, in which known webhooks may be missing.
    const isRestored = BigInt(horizon) < BigInt(this.horizon);
    this.horizon = isRestored ? '0' : horizon;
    for (const row of rows) this.put(row);
    if (isRestored) {
      await this.load();
      await this.removeDeleted();
    }
  }

  private put(row: SubscriptionRow): void {
    this.remove(row.id);
    if (row.status !== 'active') return;
    try {
      const subscription = openSubscription(row, this.sealing, this.clock.nowMs());
      this.byId.set(row.id, subscription);
      const ofOrg = this.byOrg.get(row.orgId) ?? new Map<string, Subscription>();
      this.byOrg.set(row.orgId, ofOrg.set(row.id, subscription));
    } catch (err) {
      this.broken.add(row.id);
      this.logger.error(
        { err, alert: 'webhook_undecipherable', webhookId: row.id, orgId: row.orgId },
        'webhook cannot be opened; its events are skipped until its key is restored',
      );
    }
  }

  remove(webhookId: string): void {
    this.broken.delete(webhookId);
    const known = this.byId.get(webhookId);
    if (!known) return;
    this.byId.delete(webhookId);
    const ofOrg = this.byOrg.get(known.orgId);
    ofOrg?.delete(webhookId);
    if (ofOrg?.size === 0) this.byOrg.delete(known.orgId);
  }
}
