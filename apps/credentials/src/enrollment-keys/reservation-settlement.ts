import { Injectable } from '@nestjs/common';
import { PROVISIONING_DEVICES_EXISTING } from '@rmm/contracts';
import { RpcClient } from '@rmm/messaging';
import { Job } from '@rmm/service-kit';
import { EnrollmentReservations } from './enrollment-reservations.js';

const SETTLE_AFTER_SECONDS = 30; // an enrollment answers or fails within 10 s
const SETTLE_BATCH = 500;

/** Settles reservations whose enrollment crashed half-way: by whether the device exists, within 60 s. */
@Injectable()
export class ReservationSettlement {
  constructor(
    private readonly reservations: EnrollmentReservations,
    private readonly rpc: RpcClient,
  ) {}

  @Job({ name: 'settle-enrollment-reservations', everyMs: 10_000 })
  async run(): Promise<void> {
    await this.settle();
    await this.reservations.purge();
  }

  /**
   * A reservation that another replica or a late word of provisioning settles meanwhile is left as it is.
   * @returns how many were settled here
   * @throws UnavailableError  when provisioning cannot be asked; nothing is settled then
   */
  async settle(olderThanSeconds = SETTLE_AFTER_SECONDS): Promise<number> {
    const deviceIds = await this.reservations.unsettled(olderThanSeconds, SETTLE_BATCH);
    if (!deviceIds.length) return 0;
    const { existing } = await this.rpc.call(PROVISIONING_DEVICES_EXISTING, { deviceIds });
    const exists = new Set(existing);
    let settled = 0;
    for (const deviceId of deviceIds) {
      const here = await (exists.has(deviceId)
        ? this.reservations.confirm(deviceId)
        : this.reservations.release(deviceId));
      if (here) settled += 1;
    }
    return settled;
  }
}
