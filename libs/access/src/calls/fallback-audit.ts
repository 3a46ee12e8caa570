import type { AuditAction } from '@rmm/contracts';
import type { AuditTrail } from '@rmm/messaging';
import { currentContext, type Logger, runInContext } from '@rmm/service-kit';
import type { Caller } from '../callers/caller.js';

/** A call that changed something and left no audit row of its own. */
export interface UnauditedCall {
  caller: Caller;
  /** `PATCH` */
  method: string;
  /** The pattern of its route: `/api/v1/users/:id`. */
  path: string;
  status: number;
}

/** Audit rows for changes whose handlers wrote none. @see CONTRACT.md 1.7 */
export class FallbackAudit {
  private readonly writing = new Set<Promise<void>>();

  constructor(
    private readonly audit: Pick<AuditTrail, 'recordDirect'>,
    private readonly logger: Pick<Logger, 'warn'>,
  ) {}

  /** Never throws and never waits. Calls without a tenant leave no row. */
  record({ caller, method, path, status }: UnauditedCall): void {
    const { partnerId, orgId } = caller.tenant;
    if (partnerId === null && orgId === null) return;
    const context = currentContext();
    const details = { fallback: true, method, path, status };
    const add = () =>
      this.audit.recordDirect(
        caller,
        `request.${method.toLowerCase()}` as AuditAction,
        { type: 'route', name: `${method} ${path}` },
        details,
      );
    const written = (context ? runInContext({ ...context }, add) : add())
      .catch((err: unknown) => this.logger.warn({ err, method, path }, 'A call could not be audited'))
      .finally(() => this.writing.delete(written));
    this.writing.add(written);
  }

  /** Waits for the rows under way: before the process ends. */
  async drain(): Promise<void> {
    await Promise.all(this.writing);
  }
}
