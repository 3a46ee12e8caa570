import { Injectable } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { PartnerAccessDenied, PartnerDirectory, type Caller, type DirectoryPartner } from '@rmm/access';
import { Idempotency, TenantDatabase, type TenantTransaction } from '@rmm/persistence';
import { ValidationError } from '@rmm/service-kit';
import { resolvePartnerId } from '../partners/partner-scope.policy.js';
import { organizationsLock, PartnersRepository } from '../partners/partners.repository.js';
import type { ImportPreviewDto, ImportResultDto } from './dto/import-results.dto.js';
import type { CommitImportDto, PreviewImportDto } from './dto/import-rows.dto.js';
import { decideImport } from './import-decision.policy.js';
import { planImport } from './import-plan.js';
import { parseImportRows, type ImportRow, type ParsedRows } from './import-rows.js';
import { ImportWriterService } from './import-writer.service.js';
import { toImportResult, toPreviewedRows } from './import.mapper.js';
import { ImportRepository } from './import.repository.js';

/** Imports organizations and their sites in bulk. Preview and commit share the plan. */
@Injectable()
export class ImportService {
  constructor(
    private readonly tenants: TenantDatabase,
    private readonly repository: ImportRepository,
    private readonly partners: PartnerDirectory,
    private readonly counters: PartnersRepository,
    private readonly writer: ImportWriterService,
    private readonly idempotency: Idempotency,
  ) {}

  /**
   * Returns the effect of an import on each row; writes nothing.
   * @throws ValidationError, PartnerAccessDenied
   */
  async preview(caller: Caller, dto: PreviewImportDto): Promise<ImportPreviewDto> {
    const partner = await this.getPartner(resolvePartnerId(caller, dto.partnerId));
    const { rows, warnings } = await readRows(dto.rows);
    const groups = await this.tenants.transaction(caller, async (tx) =>
      planImport(rows, await this.loadState(tx, partner, rows)),
    );
    return { rows: toPreviewedRows(dto.rows, groups), warnings };
  }

  /**
   * Plans again under the lock of the partner and writes one set of rows after the other. A group that cannot be
   * imported is reported for each of its rows. A repeated request with the same idempotency key gets the same result.
   * @throws ValidationError, PartnerAccessDenied, UnavailableError
   */
  async commit(caller: Caller, dto: CommitImportDto): Promise<ImportResultDto> {
    const partner = await this.getPartner(resolvePartnerId(caller, dto.partnerId));
    const { partnerId } = partner;
    const { rows, warnings } = await readRows(dto.rows);
    const run = async (tx: TenantTransaction): Promise<ImportResultDto> => {
      const state = await this.loadState(tx, partner, rows);
      const decided = await decideImport(planImport(rows, state), state, dto.mode ?? 'skip', randomUUID);
      return { ...toImportResult(await this.writer.apply(tx, { caller, partnerId }, decided)), warnings };
    };
    return this.tenants.lockedTransaction(caller, organizationsLock(partnerId), (tx) =>
      this.idempotency.once(tx, () => run(tx)),
    );
  }

  /** @throws PartnerAccessDenied  also for an unknown partner; UnavailableError when its cap is not known */
  private async getPartner(partnerId: string): Promise<DirectoryPartner> {
    const partner = await this.partners.find(partnerId);
    if (!partner) throw new PartnerAccessDenied();
    return partner;
  }

  private async loadState(tx: TenantTransaction, partner: DirectoryPartner, rows: readonly ImportRow[]) {
    const { partnerId, maxOrganizations: cap } = partner;
    const remaining = cap === null ? null : Math.max(0, cap - (await this.counters.countOrganizations(tx, partnerId)));
    return this.repository.loadState(tx, partnerId, rows, remaining);
  }
}

/** @throws ValidationError  with the problems of all rows */
async function readRows(given: readonly unknown[]): Promise<Omit<ParsedRows, 'problems'>> {
  const { rows, warnings, problems } = await parseImportRows(given);
  if (Object.keys(problems).length > 0) throw new ValidationError(undefined, { fieldErrors: problems });
  return { rows, warnings };
}
