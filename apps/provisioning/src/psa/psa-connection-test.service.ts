import { Injectable } from '@nestjs/common';
import type { Caller, UserCaller } from '@rmm/access';
import { AuditTrail } from '@rmm/messaging';
import { TenantDatabase } from '@rmm/persistence';
import type { PsaTestResultDto } from './dto/psa-connection.dto.js';
import { PsaClientsService, type PsaClient } from './psa-clients.service.js';
import type { PsaConnection, PsaConnectionStatus } from './psa-connection.entity.js';
import { psaResource } from './psa-connection.mapper.js';
import { PsaConnectionsRepository } from './psa-connections.repository.js';
import { assertMayChange } from './psa-connections.service.js';
import { ListingTimeSpent } from './psa-http.js';
import { PsaCredentialsIncomplete, PsaCredentialsRejected, PsaFailed, PsaRequestRefused } from './psa.errors.js';
import { PSA_LIMITS } from './psa.limits.js';

/** The outcome of a call: the error that the caller may read, null for none. */
type Outcome = PsaCredentialsIncomplete | PsaRequestRefused | PsaFailed | null;

/** Tests connections and keeps their status. */
@Injectable()
export class PsaConnectionTestService {
  constructor(
    private readonly tenants: TenantDatabase,
    private readonly connections: PsaConnectionsRepository,
    private readonly clients: PsaClientsService,
    private readonly audit: AuditTrail,
  ) {}

  /**
   * Reads the first page of companies, since rights may be enough to sign in and too few to list.
   * @throws NotFoundError, ScopeNotAllowed, FullPartnerAccessRequired
   */
  async test(caller: UserCaller, id: string): Promise<PsaTestResultDto> {
    const connection = await this.connections.get(caller, id);
    assertMayChange(caller, connection.orgId);
    const failure = await this.tryAccess(connection);
    await this.recordTest(caller, connection, failure);
    if (failure) return { success: false, error: failure.error };
    return { success: true, message: 'The PSA accepted the credentials' };
  }

  /** Sets the status `error` when the PSA refused the credentials, and `active` when it accepted them again. */
  async recordAccess(caller: Caller, connection: PsaConnection, failure: unknown): Promise<void> {
    const status = statusAfter(connection, failure);
    if (status === undefined) return;
    await this.tenants.transaction(caller, async (tx) => {
      const row = await this.connections.change(tx, connection.id, { status });
      const details = { from: connection.status, to: status };
      await this.audit.record(tx, caller, 'psa.connection.status.update', psaResource(row), details);
    });
  }

  private async tryAccess(connection: PsaConnection): Promise<Outcome> {
    try {
      await readFirstPage(this.clients.open(connection, PSA_LIMITS.testMs));
      return null;
    } catch (error) {
      if (error instanceof ListingTimeSpent) return new PsaFailed('The PSA did not respond in time');
      const isKnown =
        error instanceof PsaCredentialsIncomplete || error instanceof PsaRequestRefused || error instanceof PsaFailed;
      if (isKnown) return error;
      throw error;
    }
  }

  private recordTest(caller: UserCaller, connection: PsaConnection, failure: Outcome): Promise<void> {
    const status = statusAfter(connection, failure);
    return this.tenants.transaction(caller, async (tx) => {
      await this.connections.recordTest(tx, connection.id, status);
      const result = failure ? 'failure' : 'success';
      const { provider } = connection;
      const resource = psaResource(connection);
      await this.audit.record(tx, caller, 'psa.connection.test', resource, { provider }, result, failure?.error);
    });
  }
}

async function readFirstPage({ adapter, access, http }: PsaClient): Promise<void> {
  if (adapter.probe) return adapter.probe(http);
  await adapter.companies?.pages(http, access, 1).next();
}

/** Returns the new status; undefined when it stays. A paused connection stays paused. */
function statusAfter({ status }: PsaConnection, failure: unknown): PsaConnectionStatus | undefined {
  if (failure instanceof PsaCredentialsRejected) return status === 'active' ? 'error' : undefined;
  return failure === null && status === 'error' ? 'active' : undefined;
}
