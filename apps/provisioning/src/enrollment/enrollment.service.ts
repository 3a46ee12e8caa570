import { Inject, Injectable, Logger } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { DenialAuditService } from '@rmm/access';
import { DatabaseConnectionLost } from '@rmm/persistence';
import { hashEnrollmentKey } from '@rmm/secrets';
import { ForbiddenError } from '@rmm/service-kit';
import { PROVISIONING_CONFIG, type ProvisioningConfig } from '../config.js';
import { DeviceEnrollmentService, type EnrolledDevice, type EnrollmentRequest } from './device-enrollment.service.js';
import type { EnrollDto } from './dto/enroll.dto.js';
import type { EnrolledDto } from './dto/enrolled.dto.js';
import { checkEnrollmentSecret } from './enrollment-secret.policy.js';
import type { EnrollmentKeyUnusable } from './enrollment.errors.js';
import { toEnrolledDto } from './enrollment.mapper.js';
import { KeyReservationsService, type Reservation } from './key-reservations.service.js';

export interface EnrollmentHeaders {
  enrollmentSecret?: string;
  /** The old device token of a forced re-enrollment. */
  reenrollmentToken?: string;
}

/** The route of refusals in the audit trail. */
const ROUTE = 'POST /api/v1/agents/enroll';

/** Enrolls agents: reserves a use of the key, stores the device, confirms or releases the use. */
@Injectable()
export class EnrollmentService {
  private readonly logger = new Logger(EnrollmentService.name);
  private readonly config: ProvisioningConfig['enrollment'];

  constructor(
    @Inject(PROVISIONING_CONFIG) config: ProvisioningConfig,
    private readonly reservations: KeyReservationsService,
    private readonly devices: DeviceEnrollmentService,
    private readonly denials: DenialAuditService,
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
    const { reservation, refusal } = await this.reservations.reserve(keyHashes, reservationId);
    const request = { reservation, reservationId, dto, oldToken: headers.reenrollmentToken ?? null };
    const secret = headers.enrollmentSecret ?? dto.enrollmentSecret ?? null;
    try {
      const enrolled = refusal ? await this.repeat(refusal, request, secret) : await this.use(request, secret);
      return toEnrolledDto(enrolled);
    } catch (error) {
      if (error instanceof ForbiddenError) this.auditRefusal(request, error);
      throw error;
    }
  }

  /** Enrolls with the reserved use, which is kept unless the agent has a device from an attempt before. */
  private async use(request: EnrollmentRequest, secret: string | null): Promise<EnrolledDevice> {
    const { reservation, reservationId } = request;
    const enrolled = await this.releaseOnFailure(reservationId, async () => {
      this.checkSecret(reservation, secret);
      return this.devices.enroll(request);
    });
    await (enrolled.isRepeated ? this.reservations.release(reservationId) : this.reservations.confirm(reservationId));
    return enrolled;
  }

  /** Enrolls an agent whose reply was lost: the attempt before took the last use. @throws the refusal for every other agent */
  private async repeat(
    refusal: EnrollmentKeyUnusable,
    request: EnrollmentRequest,
    secret: string | null,
  ): Promise<EnrolledDevice> {
    if (checkEnrollmentSecret(this.config, request.reservation.enrollmentSecretHash, secret) !== null) throw refusal;
    const repeated = await this.devices.reissue(request);
    if (repeated === null) throw refusal;
    return repeated;
  }

  private auditRefusal({ reservation, dto }: EnrollmentRequest, { code }: ForbiddenError): void {
    const { partnerId, orgId, enrollmentKeyId } = reservation;
    this.denials.record({
      caller: { actor: { type: 'agent', id: null }, tenant: { partnerId, orgId } },
      action: 'device.enroll',
      code,
      route: ROUTE,
      details: { enrollmentKeyId, hostname: dto.hostname },
    });
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
