import { Inject, Injectable } from '@nestjs/common';
import type { Caller } from '@rmm/access';
import { TenantDatabase, type QueryShape, type TenantTransaction } from '@rmm/persistence';
import { NotFoundError } from '@rmm/service-kit';
import { PROVISIONING_CONFIG, type ProvisioningConfig } from '../../config.js';
import { SortedListRepository, type SortedPageRequest, type SortedRows } from '../../lists/sorted-list.repository.js';
import { nameKey } from '../../organizations/name-key.js';
import type { CompanyRow } from '../company-row.mapper.js';
import type { PsaConnection } from '../psa-connection.entity.js';
import { PsaProposal, type ProposalKind, type ProposalStatus } from './psa-proposal.entity.js';

export interface ProposalFilter {
  connectionId: string;
  kind?: ProposalKind;
  status: ProposalStatus;
}

/** With the organization of a rename as it is named now. */
export type ListedProposal = PsaProposal & { organizationName: string | null };

/** A company that is linked, with the organization that it is linked to. */
export interface LinkedCompany {
  externalId: string;
  orgId: string;
  nameKey: string;
  isDeleted: boolean;
}

/** A new name of a company that is linked. */
export interface CompanyRename {
  externalId: string;
  orgId: string;
  name: string;
}

/** The findings of one run. */
export interface FoundCompanies {
  /** The run. */
  seenBy: string;
  companies: readonly CompanyRow[];
  renames: readonly CompanyRename[];
}

const WITH_ORGANIZATION: QueryShape<PsaProposal> = {
  key: 'organization',
  build: (query) =>
    query
      .leftJoin('organization', 'o', 'o.id = psaProposal.orgId AND o.partner_id = psaProposal.partnerId')
      .addSelect('o.name', 'organizationName'),
};

/** Companies that were imported since stay until the next run, so that accepting them again has the same effect. */
const LINK_OF = 'l.connection_id = psaProposal.connectionId AND l.external_id = psaProposal.externalId';
const NOT_LINKED = {
  sql: `psaProposal.kind = 'rename' OR NOT EXISTS (SELECT FROM external_link l WHERE ${LINK_OF} )`,
};

/** Rows of one statement. */
const BATCH = 1_000;

/** A dismissed company stays dismissed under any name. */
const SAVE_COMPANIES = `
  INSERT INTO psa_proposal AS p (partner_id, connection_id, kind, external_id, name, name_key, company, seen_by)
  SELECT :partnerId, :id, 'company', c.external_id, c.name, c.name_key, c.company, :seenBy
    FROM unnest(:externalIds::text[], :names::text[], :nameKeys::text[], :companies::jsonb[])
      AS c(external_id, name, name_key, company)
  ON CONFLICT (connection_id, kind, external_id) DO UPDATE
    SET name = excluded.name, name_key = excluded.name_key, company = excluded.company, seen_by = excluded.seen_by
    WHERE p.status = 'open'
  RETURNING xmax = 0 AS "isNew"`;

/** A dismissed rename is reported again when the company gets one more name. */
const SAVE_RENAMES = `
  INSERT INTO psa_proposal AS p (partner_id, connection_id, kind, external_id, name, name_key, org_id, seen_by)
  SELECT :partnerId, :id, 'rename', c.external_id, c.name, c.name_key, c.org_id, :seenBy
    FROM unnest(:externalIds::text[], :names::text[], :nameKeys::text[], :orgIds::uuid[])
      AS c(external_id, name, name_key, org_id)
  ON CONFLICT (connection_id, kind, external_id) DO UPDATE
    SET name = excluded.name, name_key = excluded.name_key, org_id = excluded.org_id, seen_by = excluded.seen_by,
        status = CASE WHEN p.name_key = excluded.name_key THEN p.status ELSE 'open' END`;

/** Proposals that need no decision any more: the company is linked. */
const DELETE_LINKED = `
  DELETE FROM psa_proposal p USING external_link l
   WHERE p.partner_id = :partnerId AND p.connection_id = :id AND p.kind = 'company'
     AND l.partner_id = p.partner_id AND l.connection_id = p.connection_id AND l.external_id = p.external_id`;

/** After a complete list: companies that are gone, and renames that were undone. Dismissed companies are kept in mind. */
const DELETE_UNSEEN = `
  DELETE FROM psa_proposal
   WHERE partner_id = :partnerId AND connection_id = :id AND seen_by <> :seenBy
     AND (kind = 'rename' OR status = 'open')`;

@Injectable()
export class PsaProposalsRepository extends SortedListRepository<PsaProposal> {
  constructor(tenants: TenantDatabase, @Inject(PROVISIONING_CONFIG) config: Pick<ProvisioningConfig, 'secrets'>) {
    const options = { ownership: 'partner' as const, list: 'psa-proposals' };
    super(tenants, config, PsaProposal, () => new NotFoundError('PSA proposal'), options);
  }

  /** Lists one page, without companies that are linked; newest first unless sorted otherwise. @throws InvalidCursor */
  list(caller: Caller, filter: ProposalFilter, page: SortedPageRequest): Promise<SortedRows<ListedProposal>> {
    return this.listSorted<ListedProposal>(caller, page, filter, {
      where: { ...filter },
      conditions: [NOT_LINKED],
      shape: WITH_ORGANIZATION,
      budget: { columns: ['company'] },
    });
  }

  /** Returns open companies in the order of their ids. @throws NotFoundError  when one is not open, or a rename */
  async getCompanies(caller: Caller, connectionId: string, ids: readonly string[]): Promise<PsaProposal[]> {
    const where = { connectionId, kind: 'company', status: 'open', id: ids } as const;
    const found = new Map((await this.findMany(caller, { where })).map((row) => [row.id, row]));
    return ids.map((id) => this.found(found.get(id)));
  }

  /** Dismisses open proposals; their companies keep id and name. @returns how many there were */
  async dismiss(tx: TenantTransaction, { id, partnerId }: PsaConnection, ids: readonly string[]): Promise<number> {
    const rows = await tx.query(
      `UPDATE psa_proposal SET status = 'dismissed', company = NULL
        WHERE partner_id = :partnerId AND connection_id = :id AND id = ANY (:ids::uuid[]) AND status = 'open'
       RETURNING 1 AS one`,
      { id, partnerId, ids },
    );
    return rows.length;
  }

  /** Returns the organizations of those companies that are linked. */
  listLinked(
    caller: Caller,
    { id, partnerId, provider }: PsaConnection,
    externalIds: readonly string[],
  ): Promise<LinkedCompany[]> {
    return this.tenants.read<LinkedCompany>(
      caller,
      `SELECT l.external_id AS "externalId", o.id AS "orgId", o.name_key AS "nameKey",
              o.deleted_at IS NOT NULL AS "isDeleted"
         FROM external_link l JOIN organization o ON o.id = l.org_id AND o.partner_id = l.partner_id
        WHERE l.partner_id = :partnerId AND l.system = :provider AND l.connection_id = :id
          AND l.external_id = ANY (:externalIds::text[])`,
      { id, partnerId, provider, externalIds },
    );
  }

  /** Returns the status of those companies that were proposed. */
  async listStatuses(
    caller: Caller,
    { id }: PsaConnection,
    externalIds: readonly string[],
  ): Promise<Map<string, ProposalStatus>> {
    const rows = await this.findMany(caller, {
      where: { connectionId: id, kind: 'company', externalId: externalIds },
      columns: ['externalId', 'status'],
    });
    return new Map(rows.map(({ externalId, status }) => [externalId, status]));
  }

  /** Stores what a run found. @returns the number of companies that are proposed for the first time */
  async save(
    tx: TenantTransaction,
    { id, partnerId }: PsaConnection,
    { seenBy, companies, renames }: FoundCompanies,
  ): Promise<number> {
    let added = 0;
    for (let from = 0; from < companies.length; from += BATCH) {
      const batch = companies.slice(from, from + BATCH);
      const rows = await tx.query<{ isNew: boolean }>(SAVE_COMPANIES, {
        ...columnsOf(batch.map((row) => ({ externalId: row.externalId, name: row.organization }))),
        companies: batch.map((row) => JSON.stringify(row)),
        id,
        partnerId,
        seenBy,
      });
      added += rows.filter(({ isNew }) => isNew).length;
    }
    for (let from = 0; from < renames.length; from += BATCH) {
      const batch = renames.slice(from, from + BATCH);
      const orgIds = batch.map(({ orgId }) => orgId);
      await tx.query(SAVE_RENAMES, { ...columnsOf(batch), orgIds, id, partnerId, seenBy });
    }
    return added;
  }

  async deleteLinked(tx: TenantTransaction, { id, partnerId }: PsaConnection): Promise<void> {
    await tx.query(DELETE_LINKED, { id, partnerId });
  }

  /** Deletes proposals that a run which read every company did not see. */
  async deleteUnseen(tx: TenantTransaction, { id, partnerId }: PsaConnection, seenBy: string): Promise<void> {
    await tx.query(DELETE_UNSEEN, { id, partnerId, seenBy });
  }
}

const columnsOf = (rows: readonly { externalId: string; name: string }[]) => ({
  externalIds: rows.map(({ externalId }) => externalId),
  names: rows.map(({ name }) => name),
  nameKeys: rows.map(({ name }) => nameKey(name)),
});
