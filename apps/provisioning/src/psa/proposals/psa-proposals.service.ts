import { Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { AuditTrail } from '@rmm/messaging';
import { TenantDatabase } from '@rmm/persistence';
import { ValidationError } from '@rmm/service-kit';
import type { ImportResultDto, PreviewedRowDto } from '../../import/dto/import-results.dto.js';
import { ImportService } from '../../import/import.service.js';
import type { SortedPage } from '../../lists/dto/sorted-page.dto.js';
import type { PsaConnection } from '../psa-connection.entity.js';
import { psaResource } from '../psa-connection.mapper.js';
import { PsaConnectionsRepository } from '../psa-connections.repository.js';
import { PsaImportService } from '../psa-import.service.js';
import type {
  AcceptPsaProposalsDto,
  DismissedProposalsDto,
  DismissPsaProposalsDto,
  ListPsaProposalsDto,
  PsaProposalDto,
} from './dto/psa-proposal.dto.js';
import { toPsaProposalDto } from './psa-proposal.mapper.js';
import { PsaProposalsRepository, type ListedProposal } from './psa-proposals.repository.js';

/** Decides on what scheduled syncs found. @see docs/reference/provisioning.md#scheduled-sync */
@Injectable()
export class PsaProposalsService {
  constructor(
    private readonly tenants: TenantDatabase,
    private readonly connections: PsaConnectionsRepository,
    private readonly proposals: PsaProposalsRepository,
    private readonly imports: ImportService,
    private readonly psaImports: PsaImportService,
    private readonly audit: AuditTrail,
  ) {}

  /** @throws NotFoundError, InvalidCursor */
  async list(
    caller: UserCaller,
    connectionId: string,
    query: ListPsaProposalsDto,
  ): Promise<SortedPage<PsaProposalDto>> {
    const connection = await this.connections.get(caller, connectionId);
    const { kind, status } = query;
    const { rows, pagination } = await this.proposals.list(caller, { connectionId, kind, status }, query);
    const effects = await this.annotate(caller, connection, rows);
    return { data: rows.map((row) => toPsaProposalDto(row, effects.get(row.id) ?? null)), pagination };
  }

  /**
   * Imports companies, as rows in the order of the items. One that is accepted again is skipped.
   * @throws NotFoundError  also for a proposal that is not an open company; ValidationError, PartnerAccessDenied,
   *   RateLimitedError, UnavailableError
   */
  async accept(
    caller: UserCaller,
    connectionId: string,
    { items, mode = 'skip' }: AcceptPsaProposalsDto,
  ): Promise<ImportResultDto> {
    const ids = items.map(({ id }) => id.toLowerCase());
    if (new Set(ids).size < ids.length) throw ValidationError.forField('items', 'must not name a proposal twice');
    const connection = await this.connections.get(caller, connectionId);
    const found = await this.proposals.getCompanies(caller, connectionId, ids);
    const rows = found.map(({ company }, index) => {
      const { id: _id, ...decision } = items[index] ?? { id: '' };
      return { ...company, ...decision };
    });
    return this.psaImports.commitCompanies(caller, connection, { rows, mode });
  }

  /** Dismisses proposals: they are not proposed again. @throws NotFoundError */
  async dismiss(
    caller: UserCaller,
    connectionId: string,
    { ids }: DismissPsaProposalsDto,
  ): Promise<DismissedProposalsDto> {
    return this.tenants.transaction(caller, async (tx) => {
      const connection = await this.connections.get(tx, connectionId);
      const dismissed = await this.proposals.dismiss(tx, connection, ids);
      await this.audit.record(tx, caller, 'psa.proposal.dismiss', psaResource(connection), { dismissed });
      return { dismissed };
    });
  }

  /** Returns the effect that accepting each open company would have now. */
  private async annotate(
    caller: UserCaller,
    { id: connectionId, partnerId }: PsaConnection,
    proposals: readonly ListedProposal[],
  ): Promise<Map<string, PreviewedRowDto>> {
    const companies = proposals.filter(({ company }) => company !== null);
    if (companies.length === 0) return new Map();
    const rows = companies.map(({ company }) => company);
    const preview = await this.imports.previewRows(caller, { partnerId, connectionId, rows });
    return new Map(companies.map(({ id }, index) => [id, preview.rows[index]]));
  }
}
