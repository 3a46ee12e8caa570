import { Module } from '@nestjs/common';
import { Outbound } from '@rmm/outbound';
import { KeyRing } from '@rmm/secrets';
import { PROVISIONING_CONFIG, type ProvisioningConfig } from '../config.js';
import { ImportModule } from '../import/import.module.js';
import { OrganizationsModule } from '../organizations/organizations.module.js';
import { PsaProposalsController } from './proposals/psa-proposals.controller.js';
import { PsaProposalsRepository } from './proposals/psa-proposals.repository.js';
import { PsaProposalsService } from './proposals/psa-proposals.service.js';
import { PsaClientsService } from './psa-clients.service.js';
import { PsaConnectionTestService } from './psa-connection-test.service.js';
import { PsaConnectionsController } from './psa-connections.controller.js';
import { PsaConnectionsRepository } from './psa-connections.repository.js';
import { PsaConnectionsService } from './psa-connections.service.js';
import { PsaImportController } from './psa-import.controller.js';
import { PsaImportService } from './psa-import.service.js';
import { PsaListingService } from './psa-listing.service.js';
import { PsaResealingService } from './psa-resealing.service.js';
import { PsaSealingService } from './psa-sealing.service.js';
import { PsaSecretsRepository } from './psa-secrets.repository.js';
import { MailDisabledSyncsJob } from './sync/mail-disabled-syncs.job.js';
import { PsaSyncFailuresService } from './sync/psa-sync-failures.service.js';
import { PsaSyncSettingsService } from './sync/psa-sync-settings.service.js';
import { PsaSyncController } from './sync/psa-sync.controller.js';
import { PsaSyncService } from './sync/psa-sync.service.js';
import { PsaSyncsRepository } from './sync/psa-syncs.repository.js';
import { SyncPsaJob } from './sync/sync-psa.job.js';

/** Several previews of one PSA may run; each sends one request at a time. */
const CONNECTIONS_PER_ORIGIN = 4;

@Module({
  imports: [ImportModule, OrganizationsModule],
  controllers: [PsaConnectionsController, PsaImportController, PsaSyncController, PsaProposalsController],
  providers: [
    { provide: KeyRing, inject: [PROVISIONING_CONFIG], useFactory: createKeyRing },
    { provide: Outbound, inject: [PROVISIONING_CONFIG], useFactory: createOutbound },
    PsaConnectionsService,
    PsaConnectionTestService,
    PsaImportService,
    PsaListingService,
    PsaClientsService,
    PsaSealingService,
    PsaResealingService,
    PsaSecretsRepository,
    PsaConnectionsRepository,
    PsaSyncSettingsService,
    PsaSyncService,
    PsaSyncFailuresService,
    SyncPsaJob,
    MailDisabledSyncsJob,
    PsaSyncsRepository,
    PsaProposalsService,
    PsaProposalsRepository,
  ],
})
export class PsaModule {}

function createKeyRing({ secrets }: ProvisioningConfig): KeyRing {
  return KeyRing.fromConfig(secrets);
}

function createOutbound(config: ProvisioningConfig): Outbound {
  return new Outbound({
    isHosted: config.isHosted,
    extraAllowedCidrs: config.outboundExtraAllowedCidrs.map(({ text }) => text),
    blockedCidrs: config.outboundBlockedCidrs.map(({ text }) => text),
    ownUrl: config.publicApiUrl,
    pools: { connectionsPerOrigin: CONNECTIONS_PER_ORIGIN },
  });
}
