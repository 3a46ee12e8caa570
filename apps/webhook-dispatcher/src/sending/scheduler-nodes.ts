import { ConcurrencyLimit, type Kind } from './concurrency-limit.js';
import { ArrayQueue } from './array-queue.js';

/** One of each kind, first attempts before retries. */
export type PerKind<T> = [first: T, retry: T];

const perKind = <T>(make: () => T): PerKind<T> => [make(), make()];

/** Where a route stands: nowhere, in the turns of its organization, or among those that wait for its origin. */
export type Place = 'idle' | 'ready' | 'parked';

/** What waits for one webhook, in the order it came. */
export class WebhookNode<T> {
  readonly cap: ConcurrencyLimit;
  readonly queues = perKind(() => new ArrayQueue<T>());
  readonly isListed: PerKind<boolean> = [false, false];

  constructor(
    readonly webhookId: string,
    readonly route: RouteNode<T>,
    limit: number,
  ) {
    this.cap = new ConcurrencyLimit(limit);
  }

  get queued(): number {
    return this.queues[0].size + this.queues[1].size;
  }

  canBegin(kind: Kind): boolean {
    return this.queues[kind].size > 0 && this.cap.allows(kind);
  }
}

/** The webhooks of one organization at one origin: they take turns. */
export class RouteNode<T> {
  readonly webhooks = new Set<WebhookNode<T>>();
  readonly turns = perKind(() => new ArrayQueue<WebhookNode<T>>());
  readonly place: PerKind<Place> = ['idle', 'idle'];

  constructor(
    readonly organization: OrganizationNode<T>,
    readonly origin: OriginNode<T>,
  ) {}
}

/** An origin, and the routes that wait for it: one per organization, so that these take turns here as well. */
export class OriginNode<T> {
  readonly cap: ConcurrencyLimit;
  readonly routes = new Set<RouteNode<T>>();
  readonly waiting = perKind(() => new ArrayQueue<RouteNode<T>>());
  /** Which kind is woken first by the next slot. */
  turn: Kind = 0;

  constructor(
    readonly origin: string,
    limit: number,
  ) {
    this.cap = new ConcurrencyLimit(limit);
  }
}

/** An organization and its routes. */
export class OrganizationNode<T> {
  readonly cap: ConcurrencyLimit;
  readonly routes = new Map<string, RouteNode<T>>();
  readonly turns = perKind(() => new ArrayQueue<RouteNode<T>>());
  /** Routes for which a slot of their origin was freed: when the organization cannot use it, others must get it. */
  readonly woken: PerKind<Set<RouteNode<T>>> = [new Set(), new Set()];
  isListed = false;
  waitsForRetries = false;
  turn: Kind = 0;
  queued = 0;
  /** Since somebody last looked. */
  ended = 0;

  constructor(
    readonly orgId: string,
    limit: number,
  ) {
    this.cap = new ConcurrencyLimit(limit);
  }

  canBegin(kind: Kind): boolean {
    return this.turns[kind].size > 0 && this.cap.allows(kind);
  }
}
