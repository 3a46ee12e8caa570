import { Injectable, StreamableFile } from '@nestjs/common';
import { Readable } from 'node:stream';
import {
  AccessSnapshots,
  InvalidAccessToken,
  PermissionDenied,
  toActingCaller,
  toExportPage,
  type UserCaller,
} from '@rmm/access';
import {
  CREDENTIALS_EXPORTS,
  CREDENTIALS_ORGANIZATION_EXPORT,
  IDENTITY_EXPORTS,
  IDENTITY_ORGANIZATION_EXPORT,
  WEBHOOK_DISPATCHER_ORGANIZATION_EXPORT,
  WEBHOOK_EXPORTS,
  type OrganizationExportPage,
} from '@rmm/contracts';
import { AuditTrail, RpcClient } from '@rmm/messaging';
import { hasPermission, type Permission } from '@rmm/permissions';
import { Clock, withoutDeadline } from '@rmm/service-kit';
import { OrganizationsRepository } from '../organizations/organizations.repository.js';
import {
  OrganizationExportRepository,
  PROVISIONING_EXPORTS,
  type ExportedOrganizationKey,
} from './organization-export.repository.js';

/** The permissions for an export, checked again while it is read. */
export const EXPORT_PERMISSIONS: [Permission, ...Permission[]] = ['organizations:delete', 'audit:export'];

interface Part {
  resource: string;
  read: (caller: UserCaller, after: string | null) => Promise<OrganizationExportPage>;
}

/**
 * Exports everything the services store of one organization as NDJSON of any length, in the memory of one page. Each
 * service serves its part in pages, as the caller.
 */
@Injectable()
export class OrganizationExportService {
  constructor(
    private readonly organizations: OrganizationsRepository,
    private readonly records: OrganizationExportRepository,
    private readonly snapshots: AccessSnapshots,
    private readonly rpc: RpcClient,
    private readonly audit: AuditTrail,
    private readonly clock: Clock,
  ) {}

  /**
   * Exports an organization, also one that is deleted and can still be restored. The first page is read before the
   * response starts, so that its failure is an error response; a later failure cuts the connection, and the last line is
   * missing.
   * @throws NotFoundError
   */
  async export(caller: UserCaller, id: string): Promise<StreamableFile> {
    const { name, partnerId, slug } = await this.organizations.getExportable(caller, id);
    const resource = { type: 'organization', id, name, orgId: id, partnerId };
    await this.audit.recordDirect(caller, 'organization.export', resource);
    const lines = this.lines(caller, { orgId: id, partnerId });
    const first = await lines.next();
    const text = Readable.from(startingWith(first.done ? '' : first.value, lines), { highWaterMark: 1 });
    const day = new Date(this.clock.nowMs()).toISOString().slice(0, 10);
    return new StreamableFile(text, {
      type: 'application/x-ndjson',
      disposition: `attachment; filename="${slug}-${day}.ndjson"`,
    });
  }

  /** Yields the lines of one page at a time; the next page is read when they are consumed. */
  private async *lines(caller: UserCaller, organization: ExportedOrganizationKey): AsyncGenerator<string> {
    const counts: Record<string, number> = {};
    let header = toLine('export', {
      version: 1,
      ...organization,
      startedAt: new Date(this.clock.nowMs()).toISOString(),
    });
    for (const { resource, read } of this.parts(organization)) {
      counts[resource] = 0;
      let after: string | null = null;
      do {
        const page: OrganizationExportPage = await read(await this.revalidate(caller), after);
        counts[resource] += page.records.length;
        yield header + page.records.map((record) => toLine(resource, record)).join('');
        header = '';
        after = page.next;
      } while (after !== null);
    }
    yield toLine('export', { complete: true, counts });
  }

  private parts(organization: ExportedOrganizationKey): Part[] {
    const own = PROVISIONING_EXPORTS.map((resource) => ({
      resource,
      read: async (caller: UserCaller, after: string | null) =>
        toExportPage(await this.records.list(caller, resource, organization, after), ({ id }) => id),
    }));
    const request = (caller: UserCaller, after: string | null) => ({
      ...organization,
      caller: toActingCaller(caller),
      after,
    });
    return [
      ...own,
      ...CREDENTIALS_EXPORTS.map((resource) => ({
        resource,
        read: (caller: UserCaller, after: string | null) =>
          this.rpc.call(CREDENTIALS_ORGANIZATION_EXPORT, { ...request(caller, after), resource }),
      })),
      ...WEBHOOK_EXPORTS.map((resource) => ({
        resource,
        read: (caller: UserCaller, after: string | null) =>
          this.rpc.call(WEBHOOK_DISPATCHER_ORGANIZATION_EXPORT, { ...request(caller, after), resource }),
      })),
      ...IDENTITY_EXPORTS.map((resource) => ({
        resource,
        read: (caller: UserCaller, after: string | null) =>
          this.rpc.call(IDENTITY_ORGANIZATION_EXPORT, { ...request(caller, after), resource }),
      })),
    ];
  }

  /**
   * Returns the caller with its current access, before each page.
   * @throws InvalidAccessToken  when its session or membership has ended; PermissionDenied; UnavailableError
   */
  private async revalidate(caller: UserCaller): Promise<UserCaller> {
    const current = await this.snapshots.findCaller(caller);
    if (!current) throw new InvalidAccessToken();
    const missing = EXPORT_PERMISSIONS.filter((permission) => !hasPermission(current.permissions, permission));
    const [first, ...others] = missing;
    if (first) throw new PermissionDenied([first, ...others]);
    return current;
  }
}

const toLine = (resource: string, data: object): string => `${JSON.stringify({ resource, data })}\n`;

/** Yields what was read before the response starts, then the rest. */
async function* startingWith(first: string, rest: AsyncGenerator<string>): AsyncGenerator<string> {
  try {
    yield first;
    yield* withoutDeadline(rest);
  } finally {
    await rest.return(undefined);
  }
}
