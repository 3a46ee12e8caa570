import { type DynamicModule, Global, Module } from '@nestjs/common';
import { Outbound } from '@rmm/outbound';
import { Cursors } from '@rmm/persistence';
import { KeyRing } from '@rmm/secrets';
import { DISPATCHER_CONFIG, type WebhookDispatcherConfig } from './config.js';
import { DispatcherMetrics } from './dispatcher.metrics.js';

/** Provides what every feature of the service shares: configuration, key ring, cursors, outbound client, metrics. */
@Global()
@Module({})
export class PlatformModule {
  static forRoot(config: WebhookDispatcherConfig): DynamicModule {
    return {
      module: PlatformModule,
      providers: [
        { provide: DISPATCHER_CONFIG, useValue: config.dispatcher },
        { provide: Cursors, useFactory: () => Cursors.derive(config.keyRing, 'webhook list') },
        { provide: KeyRing, useFactory: () => KeyRing.fromConfig(config) },
        { provide: Outbound, useFactory: () => createOutbound(config) },
        DispatcherMetrics,
      ],
      exports: [Cursors, DISPATCHER_CONFIG, DispatcherMetrics, KeyRing, Outbound],
    };
  }
}

function createOutbound(config: WebhookDispatcherConfig): Outbound {
  const { originConcurrency, maxOrigins } = config.dispatcher;
  return new Outbound({
    isHosted: config.isHosted,
    extraAllowedCidrs: config.outboundExtraAllowedCidrs.map(({ text }) => text),
    blockedCidrs: config.outboundBlockedCidrs.map(({ text }) => text),
    ownUrl: config.publicApiUrl,
    pools: { connectionsPerOrigin: originConcurrency, maxOrigins },
  });
}
