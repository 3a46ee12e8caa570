import { Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { TenantDatabase, type TenantTransaction } from '@rmm/persistence';
import { NotFoundError } from '@rmm/service-kit';
import { newestPage } from '../newest-page.js';
import type { ListServicePrincipalsDto } from './dto/list-service-principals.dto.js';
import type { ServicePrincipal, ServicePrincipalStatus } from './service-principal.entity.js';

const COLUMNS = `id, partner_id AS "partnerId", org_id AS "orgId", name, scopes, status, created_by AS "createdBy",
  last_updated_by AS "lastUpdatedBy", created_at AS "createdAt", updated_at AS "updatedAt"`;
const LISTED = {
  table: 'service_principal',
  columns: COLUMNS,
  filter: '($1::uuid IS NULL OR org_id = $1) AND ($2::text IS NULL OR status = $2)',
};

@Injectable()
export class ServicePrincipalsRepository {
  constructor(private readonly tenants: TenantDatabase) {}

  /** A page, newest first, and how many there are in all. */
  list(caller: UserCaller, query: ListServicePrincipalsDto): Promise<{ rows: ServicePrincipal[]; total: number }> {
    return newestPage(this.tenants, caller, LISTED, [query.orgId ?? null, query.status ?? null], query);
  }

  /** @throws NotFoundError */
  async get(caller: UserCaller, id: string): Promise<ServicePrincipal> {
    const sql = `SELECT ${COLUMNS} FROM service_principal WHERE id = $1`;
    const [row] = await this.tenants.read<ServicePrincipal>(caller, sql, [id]);
    return found(row);
  }

  async insert(
    tx: TenantTransaction,
    row: Pick<ServicePrincipal, 'partnerId' | 'orgId' | 'name' | 'scopes' | 'createdBy'>,
  ): Promise<ServicePrincipal> {
    const [inserted] = await tx.query<ServicePrincipal>(
      `INSERT INTO service_principal (partner_id, org_id, name, scopes, created_by, last_updated_by)
       VALUES ($1, $2, $3, $4, $5, $5) RETURNING ${COLUMNS}`,
      [row.partnerId, row.orgId, row.name, row.scopes, row.createdBy],
    );
    return found(inserted);
  }

  /** Holds the principal still until the transaction ends: its changes come one after another. @throws NotFoundError */
  async lock(tx: TenantTransaction, id: string): Promise<ServicePrincipal> {
    const sql = `SELECT ${COLUMNS} FROM service_principal WHERE id = $1 FOR UPDATE`;
    const [row] = await tx.query<ServicePrincipal>(sql, [id]);
    return found(row);
  }

  /** Notes who changed it last, and its state. */
  async touch(
    tx: TenantTransaction,
    id: string,
    userId: string,
    status: ServicePrincipalStatus,
  ): Promise<ServicePrincipal> {
    const [row] = await tx.query<ServicePrincipal>(
      `UPDATE service_principal SET status = $3, last_updated_by = $2, updated_at = now()
       WHERE id = $1 RETURNING ${COLUMNS}`,
      [id, userId, status],
    );
    return found(row);
  }
}

/** @throws NotFoundError */
function found(row: ServicePrincipal | undefined): ServicePrincipal {
  if (!row) throw new NotFoundError('Service principal');
  return row;
}
