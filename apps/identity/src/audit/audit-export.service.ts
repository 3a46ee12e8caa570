import { Inject, Injectable, StreamableFile } from '@nestjs/common';
import { Readable } from 'node:stream';
import type { UserCaller } from '@rmm/access';
import { AuditTrail } from '@rmm/messaging';
import { Clock, RateLimits } from '@rmm/service-kit';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import { AUDIT_FILES, type AuditFile } from './audit-file.js';
import { AuditLogsService } from './audit-logs.service.js';
import type { ExportAuditLogsDto } from './dto/audit-filters.dto.js';
import type { AuditLogDto } from './dto/audit-log.dto.js';

const PAGE = 500; // entries: about 400 KB of text

/** Exports the audit trail as a file of any length, in the memory of one page. */
@Injectable()
export class AuditExportService {
  constructor(
    private readonly logs: AuditLogsService,
    private readonly audit: AuditTrail,
    private readonly limits: RateLimits,
    private readonly clock: Clock,
    @Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig,
  ) {}

  /**
   * Opens the file. The first page is read before the response starts, so that its failure is an error response. A later
   * failure cuts the connection, so that a partial file never looks complete. A client that disconnects stops the reading.
   * @throws OrganizationAccessDenied, RateLimitedError
   */
  async open(caller: UserCaller, { format, ...filters }: ExportAuditLogsDto): Promise<StreamableFile> {
    await this.logs.assertOrganizationAccess(caller, filters);
    await this.limits.hit(this.config.limits.auditExport, caller.userId);
    const resource = { type: 'audit_log', name: 'Audit trail', id: caller.orgId ?? caller.partnerId };
    await this.audit.recordDirect(caller, 'audit.export', resource, { format, filters: { ...filters } });
    const pages = this.logs.pages(caller, filters, PAGE);
    const first = await pages.next();
    const file = AUDIT_FILES[format];
    const text = Readable.from(formatPages(file, first.done ? [] : first.value, pages), { highWaterMark: 1 });
    return new StreamableFile(text, {
      type: file.mediaType,
      disposition: `attachment; filename="audit-log-${formatFileTime(this.clock.nowMs())}.${format}"`,
    });
  }
}

async function* formatPages(file: AuditFile, first: AuditLogDto[], rest: AsyncGenerator<AuditLogDto[]>) {
  yield file.header + file.format(first);
  for await (const page of rest) yield file.format(page);
}

/** Formats a time for file names: `20261121T090000Z`, without characters that need quotes. */
const formatFileTime = (ms: number): string => new Date(ms).toISOString().replace(/[-:]|\.\d+/g, '');
