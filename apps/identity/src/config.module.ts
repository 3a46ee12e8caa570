import { Module, type DynamicModule } from '@nestjs/common';
import { KeyRing } from '@rmm/secrets';
import { IDENTITY_CONFIG, type IdentityConfig } from './config.js';

/** The configuration and the encryption keys, for every feature module. */
@Module({})
export class IdentityConfigModule {
  static forRoot(config: IdentityConfig): DynamicModule {
    const providers = [
      { provide: IDENTITY_CONFIG, useValue: config },
      { provide: KeyRing, useFactory: () => KeyRing.fromConfig(config.secrets) },
    ];
    return { module: IdentityConfigModule, global: true, providers, exports: providers };
  }
}
