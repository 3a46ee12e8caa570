import { Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { AuditTrail } from '@rmm/messaging';
import { TenantDatabase, WorkerDatabase, type TenantTransaction } from '@rmm/persistence';
import { NotFoundError, toPage, type Paged } from '@rmm/service-kit';
import { Inviter } from '../users/inviter.js';
import type { CreatePartnerDto, ListPartnersDto } from './dto.js';
import { toPartnerDto, type CreatedPartnerDto, type PartnerDto } from './partner.dto.js';
import { Partner } from './partner.entity.js';
import { PartnerMaker } from './partner-maker.js';
import { assertTimeZone } from './time-zone.js';

/** Partners: all of them for system scope, its own for a partner. */
@Injectable()
export class PartnersService {
  constructor(
    private readonly tenants: TenantDatabase,
    private readonly worker: WorkerDatabase,
    private readonly maker: PartnerMaker,
    private readonly inviter: Inviter,
    private readonly audit: AuditTrail,
  ) {}

  async list(caller: UserCaller, query: ListPartnersDto): Promise<Paged<PartnerDto>> {
    const { page, limit, search, status } = query;
    const [rows, total] = await this.tenants.transaction(caller, (tx) => {
      const partners = tx.repository(Partner).createQueryBuilder('p');
      if (status) partners.andWhere('p.status = :status', { status });
      if (search) {
        const text = 'position(lower(:search) in lower(p.name)) > 0 or position(lower(:search) in p.slug) > 0';
        partners.andWhere(`(${text})`, { search });
      }
      return partners
        .orderBy('p.created_at', 'DESC')
        .addOrderBy('p.id', 'DESC')
        .offset((page - 1) * limit)
        .limit(limit)
        .getManyAndCount();
    });
    return toPage(query, total, rows.map(toPartnerDto));
  }

  /** @throws NotFoundError also for a partner the caller cannot see */
  get(caller: UserCaller, id: string): Promise<PartnerDto> {
    return this.tenants.transaction(caller, async (tx) => toPartnerDto(await this.load(tx, id)));
  }

  /** A partner and the invitation of its first administrator, in one transaction. */
  async create(caller: UserCaller, { admin, ...partner }: CreatePartnerDto): Promise<CreatedPartnerDto> {
    assertTimeZone(partner.timezone);
    const made = await this.worker.transaction(async (tx) => {
      const { id, name, slug, adminRoleId } = await this.maker.make(tx, {
        ...partner,
        createFirstOrganization: false,
        actor: caller.actor,
      });
      await this.audit.record(tx, caller, 'partner.create', { type: 'partner', id, name, partnerId: id }, { slug });
      const { account, delivery } = await this.inviter.invite(tx, caller, {
        axis: { kind: 'partner', partnerId: id },
        email: admin.email,
        name: admin.name,
        roleId: adminRoleId,
        tenantName: name,
        invitedBy: caller.userId,
        orgAccess: 'all',
        orgIds: [],
        siteIds: null,
        deviceGroupIds: null,
      });
      return { id, invite: { userId: account.id, ...delivery } };
    });
    return { ...(await this.get(caller, made.id)), invite: made.invite };
  }

  private async load(tx: TenantTransaction, id: string): Promise<Partner> {
    const partner = await tx.repository(Partner).findOne({ where: { id } });
    if (!partner) throw new NotFoundError('Partner');
    return partner;
  }
}
