import { ApiKey } from './api-keys/api-key.entity.js';
import { EnrollmentKey } from './enrollment-keys/enrollment-key.entity.js';
import { EnrollmentReservation } from './enrollment-keys/enrollment-reservation.entity.js';
import { ApiKeyUsage } from './key-usage/api-key-usage.entity.js';
import { KeyUsageBatch } from './key-usage/key-usage-batch.entity.js';
import { PartnerKey } from './partner-principals/partner-key.entity.js';
import { PartnerPrincipal } from './partner-principals/partner-principal.entity.js';
import { ServicePrincipal } from './service-principals/service-principal.entity.js';

export const ENTITIES = [
  ApiKey,
  ApiKeyUsage,
  EnrollmentKey,
  EnrollmentReservation,
  KeyUsageBatch,
  PartnerKey,
  PartnerPrincipal,
  ServicePrincipal,
];
