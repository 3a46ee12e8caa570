import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import type { AuditAction } from '@rmm/contracts';
import { type AuditedCaller, AuditTrail } from '@rmm/messaging';
import { Clock, currentContext, Job, Logger, type RequestContext, runInContext } from '@rmm/service-kit';

/** A request of a known caller that was denied. */
export interface Denial {
  caller: AuditedCaller;
  /** Audit action: `access.denied`, `ip_allowlist.denied`. */
  action: AuditAction;
  /** Error code of the response. */
  code: string;
  /** `PATCH /api/v1/users/:id` */
  route: string;
  details?: Record<string, unknown>;
  /** `success` for a request that was accepted although a rule would deny it. Default: `denied`. */
  result?: 'denied' | 'success';
}

interface Repeats {
  denial: Denial;
  context: RequestContext | undefined;
  startedAtMs: number;
  count: number;
  routes: Set<string>;
}

/** Repeats of a denial within this time are written as one row. */
export const AGGREGATION_MS = 60_000;
const FLUSH_INTERVAL_MS = 10_000;
const MAX_TRACKED = 2_000;
const MAX_ROUTES = 10;

/**
 * Writes audit rows for denials. The first denial of a caller, address and code is written at once; its repeats within
 * a minute are written as one more row with their count, so that a flood of requests does not flood the audit trail.
 */
@Injectable()
export class DenialAuditService implements BeforeApplicationShutdown {
  private readonly tracked = new Map<string, Repeats>();
  private readonly writing = new Set<Promise<void>>();

  constructor(
    private readonly audit: AuditTrail,
    private readonly clock: Clock,
    private readonly logger: Logger,
  ) {}

  async beforeApplicationShutdown(): Promise<void> {
    await this.drain();
  }

  /** Never throws and never waits: the response does not depend on its audit row. */
  record(denial: Denial): void {
    const context = currentContext();
    const { actor, tenant } = denial.caller;
    const from = [context?.ipAddress, actor.id, tenant.partnerId, tenant.orgId];
    const key = [...from, denial.action, denial.code].join('|');
    const known = this.tracked.get(key);
    if (known && this.clock.nowMs() - known.startedAtMs < AGGREGATION_MS) {
      known.count += 1;
      if (known.routes.size < MAX_ROUTES) known.routes.add(denial.route);
      return;
    }
    if (known) this.close(key, known);
    if (this.tracked.size >= MAX_TRACKED) this.closeOldest();
    this.tracked.set(key, { denial, context, startedAtMs: this.clock.nowMs(), count: 0, routes: new Set() });
    this.write(denial, context, {});
  }

  /** Writes the repeats of denials whose aggregation time has passed. */
  @Job({ name: 'write-repeated-denials', everyMs: FLUSH_INTERVAL_MS })
  async flushExpired(): Promise<void> {
    const now = this.clock.nowMs();
    for (const [key, repeats] of this.tracked) {
      if (now - repeats.startedAtMs >= AGGREGATION_MS) this.close(key, repeats);
    }
    await Promise.all(this.writing);
  }

  /** Writes all repeats and waits for every row. */
  async drain(): Promise<void> {
    for (const [key, repeats] of this.tracked) this.close(key, repeats);
    await Promise.all(this.writing);
  }

  private closeOldest(): void {
    const [oldest] = this.tracked;
    this.close(...oldest);
  }

  private close(key: string, { denial, context, count, routes, startedAtMs }: Repeats): void {
    this.tracked.delete(key);
    if (count === 0) return;
    const since = new Date(startedAtMs).toISOString();
    this.write(denial, context, { aggregated: true, count, since, routes: [...routes] });
  }

  private write(denial: Denial, context: RequestContext | undefined, more: Record<string, unknown>): void {
    const { caller, action, code, route, result = 'denied' } = denial;
    const add = () =>
      this.audit.recordDirect(
        caller,
        action,
        { type: 'route', name: route },
        { reason: code, ...denial.details, ...more },
        result,
        result === 'denied' ? code : undefined,
      );
    // A copy of the context: this row must not mark the request as audited by its handler, nor end with its time limit.
    const written = (context ? runInContext({ ...context, deadline: undefined }, add) : add())
      .catch((err: unknown) => this.logger.warn({ err, action, code }, 'Denial audit row not written; it is lost'))
      .finally(() => this.writing.delete(written));
    this.writing.add(written);
  }
}
