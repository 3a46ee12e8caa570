import { type DynamicModule, Module } from '@nestjs/common';
import { IDEMPOTENCY_OPTIONS, type IdempotencyOptions } from './idempotency.options.js';
import { IdempotencyRepository } from './idempotency.repository.js';
import { Idempotency } from './idempotency.service.js';
import { PurgeIdempotencyRecordsJob } from './purge-idempotency-records.job.js';

/** Idempotency keys for a service whose schema has the table `idempotency_record`. Global; needs PersistenceModule. */
@Module({})
export class IdempotencyModule {
  static forRoot(options: IdempotencyOptions): DynamicModule {
    return {
      module: IdempotencyModule,
      global: true,
      providers: [
        { provide: IDEMPOTENCY_OPTIONS, useValue: options },
        Idempotency,
        IdempotencyRepository,
        PurgeIdempotencyRecordsJob,
      ],
      exports: [Idempotency],
    };
  }
}
