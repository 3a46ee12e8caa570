import { RESTORE_DAYS } from '../organizations/organizations.repository.js';
import type { ErasureDto, ErasureStatus } from './dto/erasure.dto.js';
import type { ErasureView } from './organization-erasures.repository.js';

const DAY_MS = 86_400_000;

export function toErasureDto(view: ErasureView): ErasureDto {
  const { orgId, deletedAt, requestedAt, startedAt, finishedAt, parts } = view;
  return {
    orgId,
    status: statusOf(view),
    deletedAt: deletedAt.toISOString(),
    eraseAfter: new Date(deletedAt.getTime() + RESTORE_DAYS * DAY_MS).toISOString(),
    requestedAt: requestedAt?.toISOString() ?? null,
    startedAt: startedAt?.toISOString() ?? null,
    finishedAt: finishedAt?.toISOString() ?? null,
    services: parts.map((part) => ({
      service: part.service,
      erased: part.erased,
      finishedAt: part.finishedAt && new Date(part.finishedAt).toISOString(),
    })),
  };
}

function statusOf({ requestedAt, startedAt, finishedAt }: ErasureView): ErasureStatus {
  if (finishedAt) return 'finished';
  if (startedAt) return 'running';
  return requestedAt ? 'requested' : 'scheduled';
}
