import { Injectable } from '@nestjs/common';
import { Outbound } from '@rmm/outbound';
import { UnsealFailed } from '@rmm/secrets';
import { Clock, Logger } from '@rmm/service-kit';
import { PSA_ADAPTERS } from './adapters/psa-adapters.js';
import type { PsaAccess, PsaAdapter } from './adapters/psa.adapter.js';
import type { PsaConnection } from './psa-connection.entity.js';
import { missingCredentials } from './psa-connection.mapper.js';
import { PsaHttp } from './psa-http.js';
import { PsaSealingService } from './psa-sealing.service.js';
import { PsaCredentialsIncomplete } from './psa.errors.js';

/** The adapter and the access that calls of one PSA need. */
export interface PsaClient {
  adapter: PsaAdapter;
  access: PsaAccess;
  http: PsaHttp;
}

/** Opens the credentials of connections for calls of their PSA. */
@Injectable()
export class PsaClientsService {
  constructor(
    private readonly outbound: Outbound,
    private readonly sealing: PsaSealingService,
    private readonly clock: Clock,
    private readonly logger: Logger,
  ) {}

  /**
   * Returns a client of a connection.
   * @param timeMs  for all its calls together
   * @param signal  ends its calls early
   * @throws PsaCredentialsIncomplete  also when the secrets cannot be opened any more
   */
  open(connection: PsaConnection, timeMs: number, signal?: AbortSignal): PsaClient {
    const missing = missingCredentials(connection);
    if (missing.length > 0) throw new PsaCredentialsIncomplete(missing);
    const adapter = PSA_ADAPTERS[connection.provider];
    const access = { credentials: this.openCredentials(connection), settings: connection.settings };
    const http = new PsaHttp(this.outbound, access.credentials['baseUrl'] ?? '', adapter.authorize(access), {
      clock: this.clock,
      timeMs,
      signal,
    });
    return { adapter, access, http };
  }

  private openCredentials(connection: PsaConnection): PsaAccess['credentials'] {
    try {
      return this.sealing.open(connection);
    } catch (error) {
      if (!(error instanceof UnsealFailed)) throw error;
      const { id: connectionId } = connection;
      this.logger.error(
        { err: error, connectionId },
        'The secrets of a PSA connection cannot be opened by any key of SECRETS_KEYRING; it works again once they are given again',
      );
      throw new PsaCredentialsIncomplete(connection.secretNames);
    }
  }
}
