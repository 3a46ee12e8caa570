export interface SlotLimits {
  total: number;
  perOrigin: number;
  perOrganization: number;
}

/** Where an item goes and whose it is. */
export interface Destination {
  origin: string;
  orgId: string;
}

/** Items of one organisation for one origin, in the order they came. */
interface Lane<T> {
  readonly origin: Gauge<T>;
  readonly organization: Gauge<T>;
  readonly key: string;
  items: T[];
  /** The next one: shifting an array of thousands is not free. */
  head: number;
}

/** How much of a cap is in use, and which lanes wait for it. */
interface Gauge<T> {
  readonly key: string;
  readonly limit: number;
  active: number;
  /** Lanes that refer to it: the cap is one object for as long as anybody does. */
  lanes: number;
  waiting: Lane<T>[];
}

/**
 * Gives each item its turn: lanes take turns, so that one organisation's thousands do not stand before another's one,
 * and a lane whose origin or organisation is at its cap waits aside without being looked at again and again.
 */
export class Slots<T> {
  readonly #lanes = new Map<string, Lane<T>>();
  readonly #origins = new Map<string, Gauge<T>>();
  readonly #organizations = new Map<string, Gauge<T>>();
  #ready: Lane<T>[] = [];
  #active = 0;
  #queued = 0;

  /** @param start  begins the work and calls `done` once, when it has ended */
  constructor(
    private readonly limits: SlotLimits,
    private readonly start: (item: T, done: () => void) => void,
  ) {}

  get active(): number {
    return this.#active;
  }

  get queued(): number {
    return this.#queued;
  }

  add(item: T, destination: Destination): void {
    const lane = this.#lane(destination);
    lane.items.push(item);
    this.#queued += 1;
    if (lane.items.length - lane.head === 1) this.#ready.push(lane);
    this.#pump();
  }

  /** Takes back everything that has not begun. */
  clear(): T[] {
    const items = [...this.#lanes.values()].flatMap((lane) => lane.items.slice(lane.head));
    this.#lanes.clear();
    this.#ready = [];
    this.#queued = 0;
    for (const gauges of [this.#origins, this.#organizations]) {
      for (const gauge of gauges.values()) {
        gauge.waiting = [];
        gauge.lanes = 0;
        dropIfUnused(gauges, gauge);
      }
    }
    return items;
  }

  #pump(): void {
    while (this.#active < this.limits.total) {
      const lane = this.#ready.shift();
      if (!lane) return;
      if (this.#mustWait(lane.origin, lane, lane.organization)) continue;
      if (this.#mustWait(lane.organization, lane, lane.origin)) continue;
      this.#begin(lane);
    }
  }

  /** A lane that cannot use the turn it was woken for passes it on, or the free slot of `other` would be forgotten. */
  #mustWait(gauge: Gauge<T>, lane: Lane<T>, other: Gauge<T>): boolean {
    if (gauge.active < gauge.limit) return false;
    gauge.waiting.push(lane);
    if (other.active < other.limit) this.#wake(other);
    return true;
  }

  #begin(lane: Lane<T>): void {
    const item = lane.items[lane.head];
    lane.head += 1;
    this.#queued -= 1;
    this.#active += 1;
    lane.origin.active += 1;
    lane.organization.active += 1;
    if (lane.head < lane.items.length) {
      this.#ready.push(lane);
      if (lane.head > 1_024) {
        lane.items = lane.items.slice(lane.head);
        lane.head = 0;
      }
    } else {
      this.#lanes.delete(lane.key);
      lane.origin.lanes -= 1;
      lane.organization.lanes -= 1;
    }
    let isDone = false;
    this.start(item, () => {
      if (isDone) return;
      isDone = true;
      this.#finish(lane);
    });
  }

  #finish({ origin, organization }: Lane<T>): void {
    this.#active -= 1;
    this.#release(this.#origins, origin);
    this.#release(this.#organizations, organization);
    this.#pump();
  }

  #release(gauges: Map<string, Gauge<T>>, gauge: Gauge<T>): void {
    gauge.active -= 1;
    this.#wake(gauge);
    dropIfUnused(gauges, gauge);
  }

  #wake(gauge: Gauge<T>): void {
    const lane = gauge.waiting.shift();
    if (lane) this.#ready.push(lane);
  }

  #lane({ origin, orgId }: Destination): Lane<T> {
    const key = `${orgId} ${origin}`;
    let lane = this.#lanes.get(key);
    if (!lane) {
      lane = {
        key,
        items: [],
        head: 0,
        origin: gaugeOf(this.#origins, origin, this.limits.perOrigin),
        organization: gaugeOf(this.#organizations, orgId, this.limits.perOrganization),
      };
      lane.origin.lanes += 1;
      lane.organization.lanes += 1;
      this.#lanes.set(key, lane);
    }
    return lane;
  }
}

function gaugeOf<T>(gauges: Map<string, Gauge<T>>, key: string, limit: number): Gauge<T> {
  let gauge = gauges.get(key);
  if (!gauge) {
    gauge = { key, limit, active: 0, lanes: 0, waiting: [] };
    gauges.set(key, gauge);
  }
  return gauge;
}

function dropIfUnused<T>(gauges: Map<string, Gauge<T>>, gauge: Gauge<T>): void {
  if (gauge.active === 0 && gauge.lanes === 0) gauges.delete(gauge.key);
}
