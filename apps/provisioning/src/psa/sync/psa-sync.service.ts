import { Injectable } from '@nestjs/common';
import { PartnerDirectory, type Caller } from '@rmm/access';
import { TenantDatabase, type TenantTransaction } from '@rmm/persistence';
import { NotFoundError } from '@rmm/service-kit';
import type { ImportResultDto } from '../../import/dto/import-results.dto.js';
import { ImportService } from '../../import/import.service.js';
import { nameKey } from '../../organizations/name-key.js';
import type { CompanyRow } from '../company-row.mapper.js';
import type { ListedCompanies } from '../list-companies.js';
import { PsaProposalsRepository, type CompanyRename } from '../proposals/psa-proposals.repository.js';
import type { PsaConnection } from '../psa-connection.entity.js';
import { PsaConnectionsRepository } from '../psa-connections.repository.js';
import { PsaImportService } from '../psa-import.service.js';
import { PsaListingService } from '../psa-listing.service.js';
import { PSA_SYNC_LIMITS } from '../psa.limits.js';
import { secondsToNextRun } from './psa-sync-schedule.policy.js';
import { PsaSyncLeaseLost, PsaSyncSkipped } from './psa-sync.errors.js';
import { PsaSyncsRepository, type PsaSyncClaim } from './psa-syncs.repository.js';
import { scheduledCaller } from './scheduled-caller.js';

/** The findings of a run in the PSA. */
interface Found {
  listed: ListedCompanies;
  /** Companies that were proposed before and are not decided on. */
  open: CompanyRow[];
  renames: CompanyRename[];
}

interface Imported {
  created: number;
  runId: string | null;
  /** Companies that were not imported. */
  rest: CompanyRow[];
}

/**
 * Runs a scheduled sync: proposes or imports new companies and reports new names of known ones. It never deletes, renames
 * or restores an organization.
 * @see docs/reference/provisioning.md#scheduled-sync
 */
@Injectable()
export class PsaSyncService {
  constructor(
    private readonly tenants: TenantDatabase,
    private readonly partners: PartnerDirectory,
    private readonly connections: PsaConnectionsRepository,
    private readonly listing: PsaListingService,
    private readonly imports: ImportService,
    private readonly psaImports: PsaImportService,
    private readonly proposals: PsaProposalsRepository,
    private readonly syncs: PsaSyncsRepository,
  ) {}

  /** @throws PsaSyncSkipped, PsaSyncLeaseLost, ListingInterrupted; the errors of a listing and of an import */
  async run(claim: PsaSyncClaim, signal: AbortSignal): Promise<void> {
    const caller = scheduledCaller(claim.partnerId);
    const connection = await this.getConnection(caller, claim);
    const found = await this.find(caller, connection, signal);
    const isImporting = claim.rule === 'import' && !(await this.syncs.hasUndoneImport(caller, claim));
    const { rows } = found.listed;
    const imported = isImporting
      ? await this.importNew(caller, connection, claim, rows)
      : { created: 0, runId: null, rest: rows };
    await this.tenants.transaction(caller, async (tx) => {
      await this.assertLeased(tx, claim);
      if (claim.rule === 'import' && !isImporting) await this.syncs.changeToPropose(tx, claim);
      await this.record(tx, { connection, claim, found, imported });
    });
  }

  /** @throws PsaSyncSkipped */
  private async getConnection(caller: Caller, { connectionId, partnerId }: PsaSyncClaim): Promise<PsaConnection> {
    const partner = await this.partners.find(partnerId);
    if (partner?.status !== 'active') throw new PsaSyncSkipped('partner_inactive', 'The partner is not active');
    try {
      return await this.connections.get(caller, connectionId);
    } catch (error) {
      if (!(error instanceof NotFoundError)) throw error;
      throw new PsaSyncSkipped('organization_inactive', 'The organization of the connection is not active');
    }
  }

  private async find(caller: Caller, connection: PsaConnection, signal: AbortSignal): Promise<Found> {
    const open: CompanyRow[] = [];
    const renames: CompanyRename[] = [];
    const findKnown = async (companies: readonly CompanyRow[]): Promise<Set<string>> => {
      const externalIds = companies.map(({ externalId }) => externalId);
      const linked = await this.proposals.listLinked(caller, connection, externalIds);
      const statuses = await this.proposals.listStatuses(caller, connection, externalIds);
      const linkOf = new Map(linked.map((link) => [link.externalId, link]));
      for (const row of companies) {
        const { externalId, organization: name } = row;
        const link = linkOf.get(externalId);
        if (!link && statuses.get(externalId) === 'open') open.push(row);
        if (link && !link.isDeleted && link.nameKey !== nameKey(name)) {
          renames.push({ externalId, orgId: link.orgId, name });
        }
      }
      return new Set([...linkOf.keys(), ...statuses.keys()]);
    };
    const listed = await this.listing.list(caller, connection, { limits: PSA_SYNC_LIMITS, findKnown, signal });
    return { listed, open, renames };
  }

  /** Imports the companies that match no organization; the others need a decision. */
  private async importNew(
    caller: Caller,
    connection: PsaConnection,
    claim: PsaSyncClaim,
    companies: CompanyRow[],
  ): Promise<Imported> {
    const { id: connectionId, partnerId } = connection;
    const preview = await this.imports.previewRows(caller, { partnerId, connectionId, rows: companies });
    const isNew = companies.map((_row, index) => preview.rows[index]?.annotation === 'create');
    const rows = companies.filter((_row, index) => isNew[index]);
    if (rows.length === 0) return { created: 0, runId: null, rest: companies };
    const result: ImportResultDto = await this.psaImports.commitCompanies(caller, connection, {
      rows: rows.map((row) => ({ ...row, expectedAnnotation: 'create' })),
      mode: 'skip',
      source: 'psa_sync',
      onWritten: (tx) => this.assertLeased(tx, claim),
    });
    const created = new Set(result.imported.map(({ index }) => rows[index]?.externalId));
    const rest = companies.filter(({ externalId }) => !created.has(externalId));
    return { created: result.imported.length, runId: result.runId ?? null, rest };
  }

  /** Stores proposals and the result, and plans the next run. */
  private async record(
    tx: TenantTransaction,
    run: { connection: PsaConnection; claim: PsaSyncClaim; found: Found; imported: Imported },
  ): Promise<void> {
    const { connection, claim, found, imported } = run;
    const { truncationReason, fetched } = found.listed;
    const companies = [...found.open, ...imported.rest];
    const { renames } = found;
    const proposed = await this.proposals.save(tx, connection, { seenBy: claim.leaseId, companies, renames });
    await this.proposals.deleteLinked(tx, connection);
    if (truncationReason === null) await this.proposals.deleteUnseen(tx, connection, claim.leaseId);
    // Reading again would stop at the page guard again.
    const isContinued = truncationReason === 'cap';
    const kind = isContinued ? ('truncated' as const) : ('complete' as const);
    await this.syncs.finish(tx, claim, {
      result: {
        outcome: 'success',
        fetched,
        proposed,
        imported: imported.created,
        renamed: renames.length,
        truncationReason,
        runId: imported.runId,
        error: null,
      },
      failures: 0,
      credentialFailures: 0,
      nextInSeconds: secondsToNextRun({ kind }, claim.intervalMinutes, Math.random()),
    });
  }

  /** @throws PsaSyncLeaseLost */
  private async assertLeased(tx: TenantTransaction, claim: PsaSyncClaim): Promise<void> {
    if (!(await this.syncs.lockLeased(tx, claim))) throw new PsaSyncLeaseLost();
  }
}
