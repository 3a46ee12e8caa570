import type { ImportRunRowDto } from './dto/import-run-row.dto.js';
import type { StoredRow } from './import-run-rows.repository.js';
import type { ImportRun } from './import-run.entity.js';

/** Maps a row with its cells by the columns of the file. */
export function toRowDto({ columns }: ImportRun, row: StoredRow): ImportRunRowDto {
  const { index, line, annotation, orgId, matchId, matchName, result, code, reason } = row;
  const cells = Object.fromEntries((columns ?? []).map((column, at) => [column, row.cells[at] ?? '']));
  return { index, line, cells, annotation, organizationId: orgId, matchId, matchName, result, code, reason };
}
