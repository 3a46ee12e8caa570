import { Inject, Injectable } from '@nestjs/common';
import { Outbox, type OutgoingMessage } from '@rmm/messaging';
import { WorkerDatabase } from '@rmm/persistence';
import { Job } from '@rmm/service-kit';
import { PROVISIONING_CONFIG, type ProvisioningConfig } from '../../config.js';
import { DeviceStatesRepository, type SilentDevice } from './device-states.repository.js';

const BATCH = 500;

/**
 * Sets devices offline that have sent no heartbeat for `DEVICE_OFFLINE_AFTER_SECONDS`, and publishes `device.offline` in
 * the same transaction. Replicas may run it at the same time.
 */
@Injectable()
export class DetectOfflineDevicesJob {
  private readonly offlineAfterSeconds: number;

  constructor(
    @Inject(PROVISIONING_CONFIG) config: Pick<ProvisioningConfig, 'deviceOfflineAfterSeconds'>,
    private readonly worker: WorkerDatabase,
    private readonly states: DeviceStatesRepository,
    private readonly outbox: Outbox,
  ) {
    this.offlineAfterSeconds = config.deviceOfflineAfterSeconds;
  }

  @Job({ name: 'detect-offline-devices', everyMs: 5_000 })
  async run(): Promise<void> {
    while ((await this.sweep()) === BATCH);
  }

  /** Checks one batch of devices. @returns how many were due */
  private sweep(): Promise<number> {
    return this.worker.transaction(async (tx) => {
      const { checked, silent } = await this.states.claimSilent(this.offlineAfterSeconds, BATCH, tx);
      await this.outbox.publish(tx, silent.map(toOfflineEvent));
      return checked;
    });
  }
}

const toOfflineEvent = ({ deviceId, orgId, partnerId, version, ...device }: SilentDevice): OutgoingMessage => ({
  stream: 'events',
  type: 'device.offline',
  aggregateId: deviceId,
  aggregateVersion: Number(version),
  partnerId,
  orgId,
  actor: { type: 'system', id: null },
  data: {
    deviceId,
    hostname: device.hostname,
    displayName: device.displayName,
    lastSeenAt: device.lastSeenAt?.toISOString() ?? null,
  },
});
