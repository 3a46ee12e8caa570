import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import type { AuditAction } from '@rmm/contracts';
import { AuditTrail } from '@rmm/messaging';
import { currentContext, Logger, runInContext } from '@rmm/service-kit';
import type { Caller } from '../callers/caller.js';

/** A successful mutating request whose handler wrote no audit row. */
export interface UnauditedCall {
  caller: Caller;
  /** `PATCH` */
  method: string;
  /** Pattern of the route: `/api/v1/users/:id`. */
  path: string;
  status: number;
}

/** Writes audit rows `request.<method>` for mutating requests whose handlers wrote none. */
@Injectable()
export class FallbackAuditService implements BeforeApplicationShutdown {
  private readonly writing = new Set<Promise<void>>();

  constructor(
    private readonly audit: AuditTrail,
    private readonly logger: Logger,
  ) {}

  /** Never throws and never waits. Requests without a tenant get no row. */
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
    const written = (context ? runInContext({ ...context, deadline: undefined }, add) : add())
      .catch((err: unknown) => this.logger.warn({ err, method, path }, 'Fallback audit row not written; it is lost'))
      .finally(() => this.writing.delete(written));
    this.writing.add(written);
  }

  /** Waits for the rows that are being written. */
  async beforeApplicationShutdown(): Promise<void> {
    await Promise.all(this.writing);
  }
}
