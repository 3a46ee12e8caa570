import { Injectable } from '@nestjs/common';
import { AuditTrail } from '@rmm/messaging';
import { TenantDatabase } from '@rmm/persistence';
import { Logger } from '@rmm/service-kit';
import { PsaConnectionsRepository } from '../psa-connections.repository.js';
import {
  PsaConnectionPaused,
  PsaCredentialsIncomplete,
  PsaCredentialsRejected,
  PsaFailed,
  PsaRequestRefused,
} from '../psa.errors.js';
import { MAX_CREDENTIAL_FAILURES, secondsToNextRun } from './psa-sync-schedule.policy.js';
import type { SyncOutcome, SyncResult } from './psa-sync.entity.js';
import { PsaSyncSkipped } from './psa-sync.errors.js';
import { PsaSyncsRepository, type PsaSyncClaim, type PsaSyncEnd } from './psa-syncs.repository.js';
import { scheduledCaller } from './scheduled-caller.js';

/** Errors whose text may be shown. */
const SHOWN = [PsaFailed, PsaRequestRefused, PsaCredentialsIncomplete, PsaConnectionPaused];

/** Ends runs that failed: plans the next one, or disables the sync when the PSA keeps refusing the credentials. */
@Injectable()
export class PsaSyncFailuresService {
  constructor(
    private readonly tenants: TenantDatabase,
    private readonly syncs: PsaSyncsRepository,
    private readonly connections: PsaConnectionsRepository,
    private readonly audit: AuditTrail,
    private readonly logger: Logger,
  ) {}

  async record(claim: PsaSyncClaim, error: unknown): Promise<void> {
    const end = endOf(claim, error);
    const { connectionId, partnerId } = claim;
    const caller = scheduledCaller(partnerId);
    const { result, failures, nextInSeconds } = end;
    if (result.outcome === 'failed') {
      this.logger.warn(
        { err: error, connectionId, partnerId, failures, nextInSeconds },
        nextInSeconds === null
          ? 'the sync of a PSA failed and is disabled: the PSA keeps refusing its credentials'
          : 'the sync of a PSA failed; it is tried again',
      );
    }
    await this.tenants.transaction(caller, async (tx) => {
      if (!(await this.syncs.lockLeased(tx, claim))) return;
      await this.syncs.finish(tx, claim, end);
      if (nextInSeconds !== null) return;
      const name = await this.connections.findName(tx, connectionId);
      const resource = { type: 'psa_connection', id: connectionId, name, partnerId, orgId: null };
      const details = { reason: 'credentials', failures: end.credentialFailures };
      await this.audit.record(tx, caller, 'psa.sync.disable', resource, details, 'failure', result.error?.message);
    });
  }
}

function endOf({ failures: before, credentialFailures, intervalMinutes }: PsaSyncClaim, error: unknown): PsaSyncEnd {
  if (error instanceof PsaSyncSkipped) {
    const nextInSeconds = secondsToNextRun({ kind: 'complete' }, intervalMinutes, Math.random());
    const { code, message } = error;
    return { result: resultOf('skipped', { code, message }), failures: 0, credentialFailures: 0, nextInSeconds };
  }
  const isRefused = error instanceof PsaCredentialsRejected || error instanceof PsaCredentialsIncomplete;
  const refusals = isRefused ? credentialFailures + 1 : 0;
  const failures = before + 1;
  const isDisabled = refusals >= MAX_CREDENTIAL_FAILURES;
  const nextInSeconds = isDisabled
    ? null
    : secondsToNextRun({ kind: 'failed', failures }, intervalMinutes, Math.random());
  return { result: resultOf('failed', shownError(error)), failures, credentialFailures: refusals, nextInSeconds };
}

function shownError(error: unknown): { code: string; message: string } {
  for (const type of SHOWN) {
    if (error instanceof type) return { code: error.code, message: error.error };
  }
  return { code: 'internal_error', message: 'The sync failed by an error of this service, which its log contains' };
}

const resultOf = (outcome: SyncOutcome, error: { code: string; message: string }): SyncResult => ({
  outcome,
  fetched: 0,
  proposed: 0,
  imported: 0,
  renamed: 0,
  truncationReason: null,
  runId: null,
  error,
});
