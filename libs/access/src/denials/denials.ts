import type { AuditAction } from '@rmm/contracts';
import type { AuditedCaller, AuditTrail } from '@rmm/messaging';
import { type Clock, currentContext, type Logger, type RequestContext, runInContext } from '@rmm/service-kit';

/** Something a known caller was refused. */
export interface Denial {
  caller: AuditedCaller;
  /** Name of the audit row: `access.denied`, `ip_allowlist.denied`. */
  action: AuditAction;
  /** Code of the answer. */
  code: string;
  /** `PATCH /api/v1/users/:id` */
  route: string;
  details?: Record<string, unknown>;
  /** Something let through that is to be seen all the same. */
  result?: 'denied' | 'success';
}

interface Repeats {
  denial: Denial;
  context: RequestContext | undefined;
  startedAtMs: number;
  count: number;
  routes: Set<string>;
}

/** Repeats inside this become one row. */
export const AGGREGATE_FOR_MS = 60_000;
const MAX_TRACKED = 2_000;
const MAX_ROUTES = 10;

/**
 * Audit rows for refusals. The first refusal of a kind from an address is a row at once; its repeats inside a minute
 * become one more row with their number, so that a flood of refusals is not a flood of rows.
 */
export class Denials {
  private readonly tracked = new Map<string, Repeats>();

  constructor(
    private readonly audit: Pick<AuditTrail, 'recordDirect'>,
    private readonly clock: Clock,
    private readonly logger: Pick<Logger, 'warn'>,
  ) {}

  /** Never throws and never waits: an answer does not depend on its audit row. */
  record(denial: Denial): void {
    const context = currentContext();
    const key = [context?.ipAddress, denial.caller.actor.id, denial.action, denial.code].join('|');
    const known = this.tracked.get(key);
    if (known && this.clock.nowMs() - known.startedAtMs < AGGREGATE_FOR_MS) {
      known.count += 1;
      if (known.routes.size < MAX_ROUTES) known.routes.add(denial.route);
      return;
    }
    if (known) this.close(key, known);
    if (this.tracked.size >= MAX_TRACKED) this.closeOldest();
    this.tracked.set(key, { denial, context, startedAtMs: this.clock.nowMs(), count: 0, routes: new Set() });
    this.write(denial, context, {});
  }

  /** Writes the rows of windows that have passed. */
  sweep(): void {
    const now = this.clock.nowMs();
    for (const [key, repeats] of this.tracked)
      if (now - repeats.startedAtMs >= AGGREGATE_FOR_MS) this.close(key, repeats);
  }

  /** Writes what is still counted: before the process ends. */
  async drain(): Promise<void> {
    for (const [key, repeats] of this.tracked) this.close(key, repeats);
    await Promise.all(this.writing);
  }

  private readonly writing = new Set<Promise<void>>();

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
    // A copy, so that this row does not count as the row of the call itself.
    const written = (context ? runInContext({ ...context }, add) : add())
      .catch((err: unknown) => this.logger.warn({ err, action, code }, 'A denial could not be audited'))
      .finally(() => this.writing.delete(written));
    this.writing.add(written);
  }
}
