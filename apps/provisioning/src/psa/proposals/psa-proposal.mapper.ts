import type { PreviewedRowDto } from '../../import/dto/import-results.dto.js';
import type { PsaProposalDto } from './dto/psa-proposal.dto.js';
import type { ListedProposal } from './psa-proposals.repository.js';

/** @param effect  of accepting an open company; null for other proposals */
export const toPsaProposalDto = (row: ListedProposal, effect: PreviewedRowDto | null): PsaProposalDto => ({
  id: row.id,
  kind: row.kind,
  status: row.status,
  externalId: row.externalId,
  name: row.name,
  company: row.company && { ...row.company },
  annotation: effect?.annotation ?? null,
  organizationId: effect ? effect.organizationId : row.orgId,
  organizationName: effect ? (effect.matchedOrganizationName ?? null) : row.organizationName,
  createdAt: row.createdAt.toISOString(),
});
