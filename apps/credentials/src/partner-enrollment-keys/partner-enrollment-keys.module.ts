import { Module } from '@nestjs/common';
import { KeyRing } from '@rmm/secrets';
import { CREDENTIALS_CONFIG, type CredentialsConfig } from '../config.js';
import { EnrollmentKeysModule } from '../enrollment-keys/enrollment-keys.module.js';
import { PartnerPrincipalsModule } from '../partner-principals/partner-principals.module.js';
import { PartnerEnrollmentKeysRpc } from './partner-enrollment-keys.rpc.js';
import { PartnerEnrollmentKeysService } from './partner-enrollment-keys.service.js';

@Module({
  imports: [EnrollmentKeysModule, PartnerPrincipalsModule],
  controllers: [PartnerEnrollmentKeysRpc],
  providers: [
    PartnerEnrollmentKeysService,
    {
      provide: KeyRing,
      inject: [CREDENTIALS_CONFIG],
      useFactory: ({ secrets }: CredentialsConfig) => KeyRing.fromConfig(secrets),
    },
  ],
})
export class PartnerEnrollmentKeysModule {}
