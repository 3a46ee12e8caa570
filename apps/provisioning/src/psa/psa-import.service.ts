import { Injectable } from '@nestjs/common';
import type { Caller, UserCaller } from '@rmm/access';
import { AuditTrail } from '@rmm/messaging';
import { ValidationError } from '@rmm/service-kit';
import type { ImportResultDto } from '../import/dto/import-results.dto.js';
import { ImportService, type ImportCommit } from '../import/import.service.js';
import type { CompanyRow } from './company-row.mapper.js';
import type { CommitPsaImportDto, PsaPreviewDto } from './dto/psa-import.dto.js';
import type { PsaConnection } from './psa-connection.entity.js';
import { psaResource } from './psa-connection.mapper.js';
import { PsaConnectionsRepository } from './psa-connections.repository.js';
import { assertCanList, PsaListingService } from './psa-listing.service.js';
import { PSA_LIMITS } from './psa.limits.js';

/** Imports the companies of a PSA as organizations. @see docs/reference/provisioning.md#psa */
@Injectable()
export class PsaImportService {
  constructor(
    private readonly connections: PsaConnectionsRepository,
    private readonly listing: PsaListingService,
    private readonly imports: ImportService,
    private readonly audit: AuditTrail,
  ) {}

  /**
   * Lists the companies that are not linked yet, as rows with the effect that their import would have.
   * @throws NotFoundError, PsaListingUnsupported, PsaConnectionPaused, PsaCredentialsIncomplete, PsaRequestRefused, PsaFailed
   */
  async preview(caller: UserCaller, id: string): Promise<PsaPreviewDto> {
    const connection = await this.connections.get(caller, id);
    const findKnown = (companies: readonly CompanyRow[]) => {
      const externalIds = companies.map(({ externalId }) => externalId);
      return this.connections.listLinkedIds(caller, connection, externalIds);
    };
    const listed = await this.listing.list(caller, connection, { limits: PSA_LIMITS, findKnown });
    const { rows: companies, unknownTimezones, ...counts } = listed;
    const { partnerId } = connection;
    const { rows } = await this.imports.previewRows(caller, { partnerId, connectionId: id, rows: companies });
    const warnings = unknownTimezones.map((found) => ({ code: 'unknown-time-zone' as const, ...found }));
    const truncated = counts.truncationReason !== null;
    return { rows, truncated, ...counts, cap: PSA_LIMITS.companies, warnings };
  }

  /**
   * Imports rows of a preview. Sends no request to the PSA, and the rows are of its connection, whatever system they name.
   * @throws NotFoundError, PsaListingUnsupported, ValidationError, PartnerAccessDenied, UnavailableError
   */
  async commit(caller: UserCaller, id: string, { rows, mode = 'skip' }: CommitPsaImportDto): Promise<ImportResultDto> {
    const connection = await this.connections.get(caller, id);
    assertCanList(connection);
    return this.commitCompanies(caller, connection, { rows: withSystem(rows, connection.provider), mode });
  }

  /** Imports companies of a connection. @throws ValidationError, PartnerAccessDenied, RateLimitedError, UnavailableError */
  commitCompanies(
    caller: Caller,
    connection: PsaConnection,
    commit: Pick<ImportCommit, 'rows' | 'mode' | 'source' | 'onWritten'>,
  ): Promise<ImportResultDto> {
    const { id: connectionId, partnerId } = connection;
    return this.imports.commitRows(caller, {
      ...commit,
      partnerId,
      connectionId,
      onWritten: async (tx, result) => {
        await commit.onWritten?.(tx, result);
        const { imported, updated, skipped, errors } = result;
        await this.connections.recordImport(tx, connectionId);
        await this.audit.record(tx, caller, 'psa.connection.import', psaResource(connection), {
          mode: commit.mode,
          imported: imported.length,
          updated: updated.length,
          skipped: skipped.length,
          errors: errors.length,
        });
      },
    });
  }
}

/** @throws ValidationError  for a row without an external id, which would be no company of the PSA */
function withSystem(given: readonly unknown[], externalSystem: string): unknown[] {
  const problems: Record<string, string[]> = {};
  const rows = given.map((row, index) => {
    if (typeof row !== 'object' || row === null || Array.isArray(row)) return row;
    const { externalId } = row as { externalId?: unknown };
    const isMissing = externalId === undefined || externalId === null || externalId === '';
    if (isMissing) problems[`rows.${index}.externalId`] = ['must not be empty'];
    return { ...row, externalSystem };
  });
  if (Object.keys(problems).length > 0) throw new ValidationError(undefined, { fieldErrors: problems });
  return rows;
}
