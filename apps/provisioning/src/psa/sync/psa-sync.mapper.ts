import type { PsaSyncDto } from './dto/psa-sync.dto.js';
import type { PsaSync } from './psa-sync.entity.js';

/** The settings of a connection whose sync was never configured. */
export const DEFAULT_SYNC = { enabled: false, rule: 'propose', intervalMinutes: 1_440 } as const;

/** @param row  null for a connection whose sync was never configured */
export const toPsaSyncDto = (row: PsaSync | null, nowMs: number): PsaSyncDto => ({
  enabled: row?.enabled ?? DEFAULT_SYNC.enabled,
  rule: row?.rule ?? DEFAULT_SYNC.rule,
  intervalMinutes: row?.intervalMinutes ?? DEFAULT_SYNC.intervalMinutes,
  running: (row?.leasedUntil?.getTime() ?? 0) > nowMs,
  nextRunAt: row?.nextRunAt?.toISOString() ?? null,
  lastRunAt: row?.lastRunAt?.toISOString() ?? null,
  lastResult: row?.lastResult ?? null,
  failures: row?.failures ?? 0,
  disabledReason: row?.disabledReason ?? null,
});
