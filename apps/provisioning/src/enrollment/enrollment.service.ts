import { Inject, Injectable, Logger } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { DatabaseConnectionLost } from '@rmm/persistence';
import { hashEnrollmentKey } from '@rmm/secrets';
import { PROVISIONING_CONFIG, type ProvisioningConfig } from '../config.js';
import { DeviceEnrollmentService, type EnrolledDevice } from './device-enrollment.service.js';
import type { EnrollDto } from './dto/enroll.dto.js';
import type { EnrolledDto } from './dto/enrolled.dto.js';
import { checkEnrollmentSecret } from './enrollment-secret.policy.js';
import { toEnrolledDto } from './enrollment.mapper.js';
import { KeyReservationsService, type Reservation } from './key-reservations.service.js';

export interface EnrollmentHeaders {
  enrollmentSecret?: string;
  /** The old device token of a forced re-enrollment. */
  reenrollmentToken?: string;
}

/** Enrolls agents: reserves a use of the key, stores the device, confirms or releases the use. */
@Injectable()
export class EnrollmentService {
  private readonly logger = new Logger(EnrollmentService.name);
  private readonly config: ProvisioningConfig['enrollment'];

  constructor(
    @Inject(PROVISIONING_CONFIG) config: ProvisioningConfig,
    private readonly reservations: KeyReservationsService,
    private readonly devices: DeviceEnrollmentService,
  ) {
    this.config = config.enrollment;
  }

  /**
   * @throws InvalidEnrollmentKey 401; EnrollmentKeyUnusable, EnrollmentSecretRequired, EnrollmentSecretInvalid,
   *   TenantInactive, DeviceLimitExceeded 403; ValidationError for a site of another organization; UnavailableError
   */
  async enroll(dto: EnrollDto, headers: EnrollmentHeaders): Promise<EnrolledDto> {
    const reservationId = randomUUID();
    const { current, legacy } = this.config.peppers;
    const keyHashes = [current, ...legacy].map((pepper) =>
      hashEnrollmentKey(dto.enrollmentKey, pepper).toString('hex'),
    );
    const reservation = await this.reservations.reserve(keyHashes, reservationId);
    const enrolled = await this.releaseOnFailure(reservationId, async () => {
      this.checkSecret(reservation, headers.enrollmentSecret ?? dto.enrollmentSecret ?? null);
      return this.devices.enroll({ reservation, reservationId, dto, oldToken: headers.reenrollmentToken ?? null });
    });
    await this.reservations.confirm(reservationId);
    return toEnrolledDto(enrolled);
  }

  private checkSecret({ enrollmentSecretHash, enrollmentKeyId, orgId }: Reservation, secret: string | null): void {
    const problem = checkEnrollmentSecret(this.config, enrollmentSecretHash, secret);
    if (problem === null) return;
    if (this.config.secretEnforcement === 'enforce') throw problem;
    const message = 'Enrollment without a valid secret accepted: ENROLLMENT_SECRET_ENFORCEMENT_MODE is "warn"';
    this.logger.warn({ message, code: problem.code, enrollmentKeyId, orgId });
  }

  /** After a lost connection the commit is unknown: credentials then settles the use by whether the device exists. */
  private async releaseOnFailure(reservationId: string, work: () => Promise<EnrolledDevice>): Promise<EnrolledDevice> {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof DatabaseConnectionLost)) await this.reservations.release(reservationId);
      throw error;
    }
  }
}
