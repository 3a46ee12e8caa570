import { ArrayQueue } from './array-queue.js';
import { ConcurrencyLimit, type Kind } from './concurrency-limit.js';

/** A value for each kind: first attempts, retries. */
export type PerKind<T> = [first: T, retry: T];

const perKind = <T>(create: () => T): PerKind<T> => [create(), create()];

/** Says if a route is in no queue, in that of its organization, or in that of its origin. */
export type RouteState = 'idle' | 'ready' | 'blocked';

/** A webhook with its queued items, in order of arrival. */
export class WebhookNode<T> {
  readonly concurrency: ConcurrencyLimit;
  readonly queues = perKind(() => new ArrayQueue<T>());
  readonly isEnqueued: PerKind<boolean> = [false, false];

  constructor(
    readonly webhookId: string,
    readonly route: RouteNode<T>,
    limit: number,
  ) {
    this.concurrency = new ConcurrencyLimit(limit);
  }

  get queued(): number {
    return this.queues[0].size + this.queues[1].size;
  }

  hasStartable(kind: Kind): boolean {
    return this.queues[kind].size > 0 && this.concurrency.allows(kind);
  }
}

/** The webhooks of one organization at one origin, in round-robin order. */
export class RouteNode<T> {
  readonly webhooks = new Set<WebhookNode<T>>();
  readonly readyWebhooks = perKind(() => new ArrayQueue<WebhookNode<T>>());
  readonly state: PerKind<RouteState> = ['idle', 'idle'];

  constructor(
    readonly organization: OrganizationNode<T>,
    readonly origin: OriginNode<T>,
  ) {}
}

/** An origin and the routes that wait for it: one per organization, so these share it in round-robin order as well. */
export class OriginNode<T> {
  readonly concurrency: ConcurrencyLimit;
  readonly routes = new Set<RouteNode<T>>();
  readonly blockedRoutes = perKind(() => new ArrayQueue<RouteNode<T>>());
  /** The kind that the next released capacity wakes first. */
  nextKind: Kind = 0;

  constructor(
    readonly origin: string,
    limit: number,
  ) {
    this.concurrency = new ConcurrencyLimit(limit);
  }
}

/** An organization and its routes. */
export class OrganizationNode<T> {
  readonly concurrency: ConcurrencyLimit;
  readonly routes = new Map<string, RouteNode<T>>();
  readonly readyRoutes = perKind(() => new ArrayQueue<RouteNode<T>>());
  /** Routes woken for capacity of their origin; when the organization cannot use it, others must be woken. */
  readonly wokenRoutes: PerKind<Set<RouteNode<T>>> = [new Set(), new Set()];
  isEnqueued = false;
  isAwaitingRetries = false;
  nextKind: Kind = 0;
  queued = 0;
  /** Items that ended since `FairScheduler.organizations` was last called. */
  ended = 0;

  constructor(
    readonly orgId: string,
    limit: number,
  ) {
    this.concurrency = new ConcurrencyLimit(limit);
  }

  hasStartable(kind: Kind): boolean {
    return this.readyRoutes[kind].size > 0 && this.concurrency.allows(kind);
  }
}
