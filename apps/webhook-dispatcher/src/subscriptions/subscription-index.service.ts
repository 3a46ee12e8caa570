import { Injectable } from '@nestjs/common';
import { Clock, Job, Logger } from '@rmm/service-kit';
import { WebhookSealingService } from '../webhooks/webhook-sealing.service.js';
import { ownerOf } from '../webhooks/webhook.entity.js';
import {
  openSubscription,
  type Subscriber,
  type Subscription,
  type SubscriptionRow,
  toSubscriber,
} from './subscription.mapper.js';
import { SubscriptionsRepository } from './subscriptions.repository.js';

/**
 * The active webhooks of all tenants in memory, so that matching an event is two look-ups.
 *
 * It follows the table: `refresh` before each batch loads what committed since the last one, so that a webhook receives
 * the first event after its creation, and none after its deletion, on every replica. The broadcast `webhook.changed`
 * only shortens the delay.
 */
@Injectable()
export class SubscriptionIndexService {
  private readonly byId = new Map<string, Subscription>();
  private readonly byOrg = new Map<string, Map<string, Subscriber>>();
  /** The active webhooks of partners themselves. */
  private readonly ofPartners = new Set<string>();
  /** Active, but sealed with a missing key: their deliveries are stored and wait. */
  private readonly broken = new Map<string, SubscriptionRow>();
  /** Organizations that are not active, or whose partner is not, and such partners: the deliveries of their webhooks are stored and wait. */
  private resting: ReadonlySet<string> = new Set();
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

  /** The active webhooks that cannot be opened. */
  get undecipherable(): number {
    return this.broken.size;
  }

  /** Returns whether an organization has active webhooks, also while it is not active itself. */
  hasWebhooks(orgId: string): boolean {
    return this.byOrg.has(orgId);
  }

  get hasPartnerWebhooks(): boolean {
    return this.ofPartners.size > 0;
  }

  /** Returns the active webhooks of an organization, or those of a partner itself, that are subscribed to a type. @see ownerOf */
  match(orgId: string, type: string): Subscriber[] {
    const ofOrg = this.byOrg.get(orgId);
    return ofOrg ? [...ofOrg.values()].filter(({ types }) => types.has(type)) : [];
  }

  /** Returns how many webhooks `match` returns. */
  countSubscribers(orgId: string, type: string): number {
    const ofOrg = this.byOrg.get(orgId);
    if (!ofOrg) return 0;
    let count = 0;
    for (const { types } of ofOrg.values()) if (types.has(type)) count += 1;
    return count;
  }

  /** Returns null when the webhook is not active, deleted, or cannot be opened. */
  find(webhookId: string): Subscription | null {
    return this.byId.get(webhookId) ?? null;
  }

  /** Returns whether the deliveries of an active webhook wait: it cannot be opened, or its organization or partner is not active. */
  mustWait(webhookId: string): boolean {
    if (this.broken.has(webhookId)) return true;
    return this.resting.size > 0 && this.resting.has(this.byId.get(webhookId)?.orgId ?? '');
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

  /** Loads which organizations must wait. */
  async refreshTenants(): Promise<void> {
    this.resting = await this.repository.listRestingOrganizations();
  }

  /** Loads changes for which there is no event or whose event was lost, also of organizations and partners. */
  @Job({ name: 'refresh-webhooks', everyMs: 5_000 })
  async refreshAll(): Promise<void> {
    await this.refresh();
    await this.refreshTenants();
  }

  /**
   * Removes webhooks that are no longer stored, for a replica that read no change for longer than deletions are listed.
   * Tries again to open those that could not be opened: their key may have been added.
   */
  @Job({ name: 'remove-deleted-webhooks', everyMs: 60_000 })
  async removeDeleted(): Promise<void> {
    for (const row of [...this.broken.values()]) this.put(row);
    const known = [...this.byId.keys(), ...this.broken.keys()];
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
    const { horizon, rows, deletedIds } = await this.repository.listChangedSince(this.horizon);
    // An older horizon is that of a restored database, in which known webhooks may be missing.
    const isRestored = BigInt(horizon) < BigInt(this.horizon);
    this.horizon = isRestored ? '0' : horizon;
    for (const row of rows) this.put(row);
    for (const id of deletedIds) this.remove(id);
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
      this.putSubscriber(subscription);
    } catch (err) {
      this.broken.set(row.id, row);
      this.putSubscriber(toSubscriber(row));
      this.logger.error(
        { err, alert: 'webhook_undecipherable', webhookId: row.id, orgId: row.orgId },
        'Webhook cannot be opened; its deliveries wait, and opening is tried again each minute',
      );
    }
  }

  private putSubscriber(subscriber: Subscriber): void {
    const ofOrg = this.byOrg.get(subscriber.orgId) ?? new Map<string, Subscriber>();
    this.byOrg.set(subscriber.orgId, ofOrg.set(subscriber.webhookId, subscriber));
    if (subscriber.orgId === subscriber.partnerId) this.ofPartners.add(subscriber.webhookId);
  }

  remove(webhookId: string): void {
    const broken = this.broken.get(webhookId);
    const orgId = this.byId.get(webhookId)?.orgId ?? (broken && ownerOf(broken));
    this.byId.delete(webhookId);
    this.broken.delete(webhookId);
    this.ofPartners.delete(webhookId);
    if (orgId === undefined) return;
    const ofOrg = this.byOrg.get(orgId);
    ofOrg?.delete(webhookId);
    if (ofOrg?.size === 0) this.byOrg.delete(orgId);
  }
}
