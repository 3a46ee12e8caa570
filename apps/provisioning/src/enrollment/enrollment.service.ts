import { Inject, Injectable, Logger } from '@nestjs/common';
import { DatabaseConnectionLost } from '@rmm/persistence';
import { hashEnrollmentKey } from '@rmm/secrets';
import { randomUUID } from 'node:crypto';
import { PROVISIONING_CONFIG, type ProvisioningConfig } from '../config.js';
import { DeviceEnrollment, type EnrolledDevice } from './device-enrollment.js';
import type { EnrollDto } from './dto/enroll.dto.js';
import { secretProblem } from './enrollment-secret.js';
import { KeyUses, type Reservation } from './key-uses.js';

/** What an agent may say in headers instead of the body. */
export interface EnrollmentHeaders {
  enrollmentSecret: string | null;
  /** The old device token of a forced re-enrollment. */
  reenrollmentToken: string | null;
}

/** An agent comes in: a use of its key is reserved, the device made, the use confirmed or given back. */
@Injectable()
export class EnrollmentService {
  private readonly logger = new Logger(EnrollmentService.name);
  private readonly config: ProvisioningConfig['enrollment'];

  constructor(
    @Inject(PROVISIONING_CONFIG) config: ProvisioningConfig,
    private readonly uses: KeyUses,
    private readonly devices: DeviceEnrollment,
  ) {
    this.config = config.enrollment;
  }

  /**
   * @throws InvalidEnrollmentKey 401; EnrollmentKeyUnusable, EnrollmentSecretRequired, EnrollmentSecretInvalid,
   *   TenantInactive, DeviceLimitReached 403; ValidationError for a site of another organization; UnavailableError
   */
  async enroll(dto: EnrollDto, headers: EnrollmentHeaders): Promise<EnrolledDevice> {
    const reservationId = randomUUID();
    const { current, legacy } = this.config.peppers;
    const keyHashes = [current, ...legacy].map((pepper) =>
      hashEnrollmentKey(dto.enrollmentKey, pepper).toString('hex'),
    );
    const reservation = await this.uses.reserve(keyHashes, reservationId);
    const enrolled = await this.orGiveBack(reservationId, async () => {
      this.checkSecret(reservation, headers.enrollmentSecret ?? dto.enrollmentSecret ?? null);
      return this.devices.enroll(reservation, reservationId, dto, headers.reenrollmentToken);
    });
    await this.uses.confirm(reservationId);
    return enrolled;
  }

  private checkSecret(reservation: Reservation, presented: string | null): void {
    const problem = secretProblem(this.config, reservation.enrollmentSecretHash, presented);
    if (problem === null) return;
    if (this.config.secretEnforcement === 'enforce') throw problem;
    const { enrollmentKeyId, orgId } = reservation;
    this.logger.warn({
      message: 'An enrollment without a good secret was let in',
      code: problem.code,
      enrollmentKeyId,
      orgId,
    });
  }

  /** Whether a lost connection committed is unknown: such a use is left to be settled by whether the device exists. */
  private async orGiveBack(reservationId: string, work: () => Promise<EnrolledDevice>): Promise<EnrolledDevice> {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof DatabaseConnectionLost)) await this.uses.release(reservationId);
      throw error;
    }
  }
}
