import { Injectable } from '@nestjs/common';
import { type OrganizationState, type SiteState } from '@rmm/contracts';
import { AuditTrail, Outbox } from '@rmm/messaging';
import type { WorkerTransaction } from '@rmm/persistence';
import { lockOrganizations } from '../partners/partner-locks.js';
import { PartnersRepository } from '../partners/partners.repository.js';
import { SITE_FACT_COLUMNS, siteMessage, toSiteFact, type SiteFactRow } from '../sites/site-facts.js';
import { nameKey, tidyName } from './name-key.js';
import { FACT_COLUMNS, organizationMessage, toOrganizationFact, type OrganizationRow } from './organization-facts.js';
import { freeSlug, slugBases, slugFor } from './slug.js';
import { takenSlugs } from './taken-slugs.js';

export interface FirstOrganizationOrder {
  partnerId: string;
  companyName: string;
  partnerSlug: string;
}

export interface FirstOrganizationReply {
  organization: OrganizationState;
  site: SiteState;
}

const FIRST_SITE = 'Main Office';
const SYSTEM = { type: 'system', id: null } as const;

/** The organization and site a partner starts with. */
@Injectable()
export class FirstOrganization {
  constructor(
    private readonly partners: PartnersRepository,
    private readonly outbox: Outbox,
    private readonly audit: AuditTrail,
  ) {}

  /**
   * Makes them unless they were ever made: once per partner, whoever asks first and however often.
   * @returns both, as they are now
   */
  async ensure(tx: WorkerTransaction, order: FirstOrganizationOrder): Promise<FirstOrganizationReply> {
    await lockOrganizations(tx, order.partnerId);
    return (await this.find(tx, order.partnerId)) ?? (await this.make(tx, order));
  }

  private async find(tx: WorkerTransaction, partnerId: string): Promise<FirstOrganizationReply | null> {
    const [organization] = await tx.query<OrganizationRow>(
      `select ${FACT_COLUMNS} from organization where partner_id = $1 and is_first`,
      [partnerId],
    );
    if (!organization) return null;
    const [site] = await tx.query<SiteFactRow>(
      `select ${SITE_FACT_COLUMNS} from site where org_id = $1 order by created_at, id limit 1`,
      [organization.id],
    );
    return { organization: toOrganizationFact(organization), site: toSiteFact(site) };
  }

  private async make(tx: WorkerTransaction, order: FirstOrganizationOrder): Promise<FirstOrganizationReply> {
    const name = tidyName(order.companyName);
    const wanted = slugFor(order.partnerSlug);
    const taken = await takenSlugs(tx, order.partnerId, slugBases([wanted]));
    const slug = freeSlug(wanted, (candidate) => taken.has(candidate));
    const timezone = (await this.partners.find(tx, order.partnerId))?.timezone ?? 'UTC';
    const [organization] = await tx.query<OrganizationRow>(
      `insert into organization (partner_id, name, name_key, slug, is_first) values ($1, $2, $3, $4, true)
       returning ${FACT_COLUMNS}`,
      [order.partnerId, name, nameKey(name), slug],
    );
    const [site] = await tx.query<SiteFactRow>(
      `insert into site (partner_id, org_id, name, name_key, timezone) values ($1, $2, $3, $4, $5)
       returning ${SITE_FACT_COLUMNS}`,
      [order.partnerId, organization.id, FIRST_SITE, nameKey(FIRST_SITE), timezone],
    );
    await this.tell(tx, organization, site);
    return { organization: toOrganizationFact(organization), site: toSiteFact(site) };
  }

  private async tell(tx: WorkerTransaction, organization: OrganizationRow, site: SiteFactRow): Promise<void> {
    await this.outbox.publish(tx, [
      organizationMessage('organization.created', organization, SYSTEM),
      siteMessage('site.created', site, SYSTEM),
    ]);
    const caller = { actor: SYSTEM, tenant: { partnerId: organization.partnerId, orgId: organization.id } };
    await this.audit.record(
      tx,
      caller,
      'organization.create',
      { type: 'organization', id: organization.id, name: organization.name },
      { source: 'sign-up', slug: organization.slug, siteId: site.id },
    );
  }
}
