import { Injectable } from '@nestjs/common';
import type { Caller } from '@rmm/access';
import { PSA_ADAPTERS } from './adapters/psa-adapters.js';
import { listCompanies, type ListedCompanies, type ListingLimits, type ListingRequest } from './list-companies.js';
import { PsaClientsService } from './psa-clients.service.js';
import { PsaConnectionTestService } from './psa-connection-test.service.js';
import type { PsaConnection } from './psa-connection.entity.js';
import { PsaConnectionPaused, PsaListingUnsupported } from './psa.errors.js';

export interface ListingOptions {
  limits: ListingLimits & { listingMs: number };
  findKnown: ListingRequest['findKnown'];
  /** Ends the listing early, with ListingInterrupted. */
  signal?: AbortSignal;
}

/** Lists the companies of connections, and keeps their status. */
@Injectable()
export class PsaListingService {
  constructor(
    private readonly clients: PsaClientsService,
    private readonly tests: PsaConnectionTestService,
  ) {}

  /** @throws PsaListingUnsupported, PsaConnectionPaused, PsaCredentialsIncomplete, PsaRequestRefused, PsaFailed */
  async list(
    caller: Caller,
    connection: PsaConnection,
    { limits, findKnown, signal }: ListingOptions,
  ): Promise<ListedCompanies> {
    assertCanList(connection);
    if (connection.status === 'paused') throw new PsaConnectionPaused();
    const { adapter, access, http } = this.clients.open(connection, limits.listingMs, signal);
    const { companies: listing } = adapter;
    if (!listing) throw new PsaListingUnsupported();
    const { provider } = connection;
    try {
      const listed = await listCompanies({ provider, listing, access, http, limits, findKnown });
      await this.tests.recordAccess(caller, connection, null);
      return listed;
    } catch (error) {
      await this.tests.recordAccess(caller, connection, error);
      throw error;
    }
  }
}

/** @throws PsaListingUnsupported */
export function assertCanList({ provider }: PsaConnection): void {
  if (!PSA_ADAPTERS[provider].companies) throw new PsaListingUnsupported();
}
