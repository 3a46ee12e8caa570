import { Readable } from 'node:stream';
import { Inject, Injectable, StreamableFile } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { AuditTrail } from '@rmm/messaging';
import { Clock, RateLimits } from '@rmm/service-kit';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import { AUDIT_FILES, type AuditFile } from './audit-file.js';
import type { AuditLogDto } from './audit-log.dto.js';
import { AuditLogsService } from './audit-logs.service.js';
import type { ExportAuditLogsDto } from './dto.js';

const PAGE = 500; // rows: some 400 KB of text, a few milliseconds of work between two waits

/** The audit trail as a file of any length, in the memory of one page. */
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
   * The first page is read before anything is answered, so that what fails then is an error body. What fails later cuts
   * the connection: half a file never looks like a whole one. Who goes away ends the reading.
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
    const text = Readable.from(textOf(file, first.done ? [] : first.value, pages), { highWaterMark: 1 });
    return new StreamableFile(text, {
      type: file.mediaType,
      disposition: `attachment; filename="audit-log-${fileTime(this.clock.nowMs())}.${format}"`,
    });
  }
}

async function* textOf(file: AuditFile, first: AuditLogDto[], rest: AsyncGenerator<AuditLogDto[]>) {
  yield file.header + linesOf(file, first);
  for await (const page of rest) yield linesOf(file, page);
}

const linesOf = ({ line }: AuditFile, rows: readonly AuditLogDto[]): string => rows.map(line).join('');

/** `20261121T090000Z`: nothing in it needs quotes on any system. */
const fileTime = (ms: number): string => new Date(ms).toISOString().replace(/[-:]|\.\d+/g, '');
