import type { PartnerState } from '@rmm/contracts';
import type { PartnerDto } from './dto/partner.dto.js';
import type { Partner } from './partner.entity.js';

export const toPartnerDto = (partner: Partner): PartnerDto => ({
  id: partner.id,
  name: partner.name,
  slug: partner.slug,
  type: partner.type,
  plan: partner.plan,
  status: partner.status,
  settings: partner.settings,
  maxOrganizations: partner.maxOrganizations,
  maxDevices: partner.maxDevices,
  timezone: partner.timezone,
  billingEmail: partner.billingEmail,
  currencyCode: partner.currencyCode,
  createdAt: partner.createdAt.toISOString(),
  updatedAt: partner.updatedAt.toISOString(),
});

/** The properties of a partner that its events and the directories of other services carry. */
export type PartnerStateRow = Pick<
  Partner,
  'id' | 'name' | 'slug' | 'status' | 'maxOrganizations' | 'maxDevices' | 'timezone' | 'settings' | 'version'
>;

/** Maps a partner to the payload of `partner.updated`. */
export const toPartnerState = (partner: PartnerStateRow): PartnerState => ({
  partnerId: partner.id,
  name: partner.name,
  slug: partner.slug,
  status: partner.status,
  maxOrganizations: partner.maxOrganizations,
  maxDevices: partner.maxDevices,
  timezone: partner.timezone,
  settings: { enrollment: partner.settings.enrollment ?? {} },
  version: Number(partner.version),
});
