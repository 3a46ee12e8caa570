import { Injectable } from '@nestjs/common';
import {
  TenantDatabase,
  TenantRepository,
  WorkerDatabase,
  type PageRequest,
  type PageRows,
  type Source,
  type SqlExecutor,
  type TenantTransaction,
  type Values,
  type WorkerTransaction,
} from '@rmm/persistence';
import { NotFoundError } from '@rmm/service-kit';
import { tenantOf, type MemberScope } from '../members/member-scope.service.js';
import { SsoProvider } from './sso-provider.entity.js';

/** Identity providers. Row-level security limits callers to their own; logins read any under the worker login. */
@Injectable()
export class SsoProvidersRepository extends TenantRepository<SsoProvider> {
  constructor(
    tenants: TenantDatabase,
    private readonly worker: WorkerDatabase,
  ) {
    super(tenants, SsoProvider, () => new NotFoundError('SSO provider'));
  }

  list(caller: Source, scope: MemberScope, page: PageRequest): Promise<PageRows<SsoProvider>> {
    return this.listPage(caller, { where: tenantOf(scope), page });
  }

  get(caller: Source, id: string): Promise<SsoProvider> {
    return this.getOne(caller, { where: { id } });
  }

  /** Locks a provider until the transaction ends. @throws NotFoundError also for one of another tenant */
  lock(tx: TenantTransaction, id: string): Promise<SsoProvider> {
    return this.getOne(tx, { where: { id }, lock: 'FOR UPDATE' });
  }

  countOf(tx: TenantTransaction, scope: MemberScope): Promise<number> {
    return this.count(tx, { where: tenantOf(scope) });
  }

  create(tx: TenantTransaction, values: Values<SsoProvider>): Promise<SsoProvider> {
    return this.insert(tx, values);
  }

  /** Stores settings. Logins that began before, and their codes, end: they carry the former version. */
  change(tx: TenantTransaction, id: string, values: Values<SsoProvider>): Promise<SsoProvider> {
    return this.updateOne(
      tx,
      { id },
      { ...values, configVersion: () => 'config_version + 1', updatedAt: () => 'now()' },
    );
  }

  /** Deletes a provider with its linked identities and pending logins. */
  async remove(tx: TenantTransaction, id: string): Promise<void> {
    await this.delete(tx, { id });
  }

  /** Makes concurrent creates of one owner wait for each other. */
  async lockOwner(tx: SqlExecutor, { partnerId, orgId }: { partnerId: string; orgId: string | null }): Promise<void> {
    await tx.query(`SELECT pg_advisory_xact_lock(hashtextextended('sso-providers:' || :owner, 0))`, {
      owner: orgId ?? partnerId,
    });
  }

  /** Finds a provider of any tenant; under the worker login. */
  find(id: string, db: Source = this.worker): Promise<SsoProvider | null> {
    return this.findOne(db, { where: { id } });
  }

  /** Keeps a provider of any tenant from being changed until the transaction ends; null when there is none. */
  lockShared(tx: WorkerTransaction, id: string): Promise<SsoProvider | null> {
    return this.findOne(tx, { where: { id }, lock: 'FOR SHARE' });
  }

  /** Locks a provider that is active and as it was read; false when it was changed or deleted since. */
  async lockUnchanged(tx: WorkerTransaction, { id, configVersion }: SsoProvider): Promise<boolean> {
    const row = await this.findOne(tx, { where: { id, configVersion, status: 'active' }, lock: 'FOR SHARE' });
    return row !== null;
  }

  /** Finds the oldest active provider of an organization, or with `orgId` null of the partner itself. */
  findActive(owner: { orgId: string } | { partnerId: string; orgId: null }): Promise<SsoProvider | null> {
    return this.findOne(this.worker, {
      where: { ...owner, status: 'active', type: 'oidc' },
      sort: { createdAt: 'ASC', id: 'ASC' },
    });
  }

  /** Returns whether the tenant of a provider is active; by the same rule as a membership in it. */
  async isTenantActive({ partnerId, orgId }: Pick<SsoProvider, 'partnerId' | 'orgId'>): Promise<boolean> {
    const [row] = await this.worker.query<{ active: boolean }>(
      `SELECT CASE WHEN :orgId::uuid IS NULL THEN p.status IN ('active', 'pending')
         ELSE p.status = 'active' AND EXISTS (
           SELECT FROM organization_directory d WHERE d.org_id = :orgId::uuid AND d.partner_id = p.id
             AND NOT d.deleted AND d.status IN ('active', 'trial')) END AS active
       FROM partner p WHERE p.id = :partnerId`,
      { partnerId, orgId },
    );
    return row?.active ?? false;
  }

  /** Returns the organizations that have proven a domain; one at most. */
  async findDomainOwner(domain: string): Promise<string | null> {
    const [row] = await this.worker.query<{ orgId: string }>(
      `SELECT org_id AS "orgId" FROM sso_domain WHERE domain = :domain AND verified_at IS NOT NULL`,
      { domain },
    );
    return row?.orgId ?? null;
  }

  /** Returns the id of the only partner; null when there are none or several. */
  async findOnlyPartner(): Promise<string | null> {
    const rows = await this.worker.query<{ id: string }>('SELECT id FROM partner LIMIT 2');
    return rows.length === 1 ? (rows[0]?.id ?? null) : null;
  }

  /** Ends the sessions that a provider opened. @returns their users */
  async endSessions(tx: SqlExecutor, providerId: string): Promise<string[]> {
    const rows = await tx.query<{ userId: string }>(
      `UPDATE session_family SET revoked_at = now(), revoked_reason = 'sso_provider_ended'
       WHERE sso_provider_id = :providerId AND revoked_at IS NULL
       RETURNING user_id AS "userId"`,
      { providerId },
    );
    return [...new Set(rows.map(({ userId }) => userId))];
  }

  /** Ends the sessions in an organization that began without one of its providers. @returns their users */
  async endOtherSessions(tx: SqlExecutor, orgId: string, exceptSessionId: string): Promise<string[]> {
    const rows = await tx.query<{ userId: string }>(
      `UPDATE session_family SET revoked_at = now(), revoked_reason = 'sso_enforced'
       WHERE scope = 'organization' AND org_id = :orgId AND sso_provider_id IS NULL AND revoked_at IS NULL
         AND absolute_expires_at > now() AND id <> :exceptSessionId
       RETURNING user_id AS "userId"`,
      { orgId, exceptSessionId },
    );
    return [...new Set(rows.map(({ userId }) => userId))];
  }
}
