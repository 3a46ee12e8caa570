import type { PartnerPrincipal } from './partner-principal.entity.js';

/** How audit rows name a principal; a partner-level act has no organization. */
export const principalResource = (row: PartnerPrincipal) => ({
  type: 'partner_service_principal',
  id: row.id,
  name: row.name,
  orgId: null,
  partnerId: row.partnerId,
});
