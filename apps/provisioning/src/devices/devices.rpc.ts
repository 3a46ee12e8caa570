import { Controller } from '@nestjs/common';
import { PROVISIONING_DEVICES_EXISTING } from '@rmm/contracts';
import { RpcHandler } from '@rmm/messaging';
import { WorkerDatabase } from '@rmm/persistence';

@Controller()
export class DevicesRpc {
  constructor(private readonly worker: WorkerDatabase) {}

  /**
   * Credentials settles reservations nobody confirmed: for which of them is there a device? A reservation bears the id
   * of the device it was made for; a re-enrollment keeps its device and notes the reservation beside it, in place of the
   * one before.
   */
  @RpcHandler(PROVISIONING_DEVICES_EXISTING)
  async existing({ deviceIds }: { deviceIds: string[] }): Promise<{ existing: string[] }> {
    const rows = await this.worker.query<{ id: string }>(
      `select id from device where id = any ($1::uuid[])
       union
       select enrollment_reservation_id from device where enrollment_reservation_id = any ($1::uuid[])`,
      [deviceIds],
    );
    return { existing: rows.map((row) => row.id) };
  }
}
