import { Injectable } from '@nestjs/common';
import type { PartnerSecurity, PartnersSince, PartnersSinceRequest, PartnerState } from '@rmm/contracts';
import {
  NIL_UUID,
  TenantDatabase,
  TenantRepository,
  WorkerDatabase,
  type PageRows,
  type QueryShape,
  type Source,
  type SqlExecutor,
  type TenantTransaction,
} from '@rmm/persistence';
import { NotFoundError } from '@rmm/service-kit';
import type { ListPartnersDto } from './dto/list-partners.dto.js';
import { Partner } from './partner.entity.js';
import { toPartnerState, type PartnerStateRow } from './partner.mapper.js';

export type NewPartner = Pick<Partner, 'name' | 'slug'> &
  Partial<Pick<Partner, 'type' | 'plan' | 'maxOrganizations' | 'maxDevices' | 'timezone' | 'signupIp'>>;

export type CreatedPartner = Pick<Partner, 'id' | 'name' | 'slug' | 'status'>;

/** Advisory lock: two partners of one name never try for one slug at the same time. */
const SLUG_LOCK = 727_003;

/** The policy without the rest of the settings. */
const SECURITY: QueryShape<Partner> = {
  key: 'security',
  build: (query) => query.addSelect(`partner.settings -> 'security'`, 'security'),
};

/** Columns of the state; of the settings only what other services need. */
const STATE = `id, name, slug, status, max_organizations AS "maxOrganizations", max_devices AS "maxDevices", timezone,
  jsonb_build_object('enrollment', settings -> 'enrollment') AS settings, version`;

/** Partners, as far as the caller can see them; and their states, for the directories of all services. */
@Injectable()
export class PartnersRepository extends TenantRepository<Partner> {
  constructor(
    tenants: TenantDatabase,
    private readonly worker: WorkerDatabase,
  ) {
    super(tenants, Partner, () => new NotFoundError('Partner'), {
      ownership: 'partner',
      ownerColumns: { partnerId: 'id' },
    });
  }

  /** Newest first. */
  list(source: Source, { page, limit, search, status }: ListPartnersDto): Promise<PageRows<Partner>> {
    return this.listPage(source, {
      where: { status },
      conditions: [
        search !== undefined && {
          sql: 'position(lower(:search) IN lower(partner.name)) > 0 OR position(lower(:search) IN partner.slug) > 0',
          params: { search },
        },
      ],
      page: { page, limit },
      budget: { columns: ['settings'] },
    });
  }

  /** @throws NotFoundError */
  get(source: Source, id: string): Promise<Partner> {
    return this.getOne(source, { where: { id } });
  }

  /** Locks the partner until the transaction ends. @throws NotFoundError */
  lock(tx: TenantTransaction, id: string): Promise<Partner> {
    return this.getOne(tx, { where: { id }, lock: 'FOR UPDATE' });
  }

  async findName(source: Source, id: string): Promise<string | null> {
    const partner = await this.findOne<Pick<Partner, 'name'>>(source, { where: { id }, columns: ['name'] });
    return partner?.name ?? null;
  }

  /** Returns a partner's security policy alone; null when the caller cannot see the partner. */
  async findSecurity(source: Source, id: string): Promise<PartnerSecurity | null> {
    const partner = await this.findOne<{ security: PartnerSecurity | null }>(source, {
      where: { id },
      columns: ['id'],
      shape: SECURITY,
    });
    return partner && (partner.security ?? {});
  }

  /** Lists the states of the partners that exist. Under the worker login: there is no caller. */
  async listStates(partnerIds: readonly string[]): Promise<PartnerState[]> {
    const rows = await this.worker.query<PartnerStateRow>(
      `SELECT ${STATE} FROM partner WHERE id = ANY (:partnerIds::uuid[])`,
      { partnerIds },
    );
    return rows.map(toPartnerState);
  }

  /** Lists a page of all partners, ordered by id, after the last one of the page before. Under the worker login. */
  async listSince({ after, limit }: PartnersSinceRequest): Promise<PartnersSince> {
    const rows = await this.worker.query<PartnerStateRow>(
      `SELECT ${STATE} FROM partner WHERE id > :after::uuid ORDER BY id LIMIT :limit`,
      { after: after ?? NIL_UUID, limit: limit + 1 },
    );
    const page = rows.slice(0, limit);
    return { partners: page.map(toPartnerState), next: rows.length > limit ? (page.at(-1)?.id ?? null) : null };
  }

  /** Stores every field but the times. @returns the partner as stored */
  store(tx: TenantTransaction, { id, createdAt, updatedAt, ...fields }: Partner): Promise<Partner> {
    return this.updateOne(tx, { id }, fields);
  }

  /** Locks the choice of a slug until the transaction ends. */
  async lockSlugs(tx: SqlExecutor): Promise<void> {
    await tx.query('SELECT pg_advisory_xact_lock(:lock)', { lock: SLUG_LOCK });
  }

  /** Lists the slugs that are taken: the given one and those with a number after it. */
  async listTakenSlugs(tx: SqlExecutor, slug: string): Promise<string[]> {
    const rows = await tx.query<{ slug: string }>(
      `SELECT slug FROM partner
       WHERE slug = :slug OR (slug LIKE :slug || '-%' AND substr(slug, length(:slug) + 2) ~ '^[0-9]+$')`,
      { slug },
    );
    return rows.map((row) => row.slug);
  }

  /** Inserts an active partner; runs under the worker login. @returns null when the slug is taken */
  async insertUnlessTaken(tx: SqlExecutor, partner: NewPartner): Promise<CreatedPartner | null> {
    const [row] = await tx.query<CreatedPartner>(
      `INSERT INTO partner (name, slug, type, plan, status, max_organizations, max_devices, timezone, signup_ip)
       VALUES (:name, :slug, coalesce(:type, 'msp'), coalesce(:plan, 'standard'), 'active', :maxOrganizations,
         :maxDevices, coalesce(:timezone, 'UTC'), :signupIp)
       ON CONFLICT (slug) DO NOTHING
       RETURNING id, name, slug, status`,
      {
        name: partner.name,
        slug: partner.slug,
        type: partner.type,
        plan: partner.plan,
        maxOrganizations: partner.maxOrganizations,
        maxDevices: partner.maxDevices,
        timezone: partner.timezone,
        signupIp: partner.signupIp,
      },
    );
    return row ?? null;
  }

  /**
   * Copies the seeded Partner Admin role, with its permissions, to a partner; runs under the worker login, because the
   * copy is a system role. @returns the id of the copy
   */
  async copyAdminRole(tx: SqlExecutor, partnerId: string): Promise<string> {
    const [role] = await tx.query<{ id: string }>(
      `WITH seeded AS (SELECT * FROM role WHERE partner_id IS NULL AND system_key = 'partner_admin'),
       copy AS (
         INSERT INTO role (partner_id, scope, name, description, is_system, force_mfa, system_key)
         SELECT :partnerId, scope, name, description, TRUE, force_mfa, system_key FROM seeded RETURNING id
       ),
       granted AS (
         INSERT INTO role_permission (role_id, permission_id)
         SELECT copy.id, rp.permission_id FROM copy, seeded JOIN role_permission rp ON rp.role_id = seeded.id
       )
       SELECT id FROM copy`,
      { partnerId },
    );
    if (!role) throw new Error('The seeded Partner Admin role is missing');
    return role.id;
  }
}
