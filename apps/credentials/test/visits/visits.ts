import type { CredentialsUnderTest } from '../credentials-under-test.js';
import { visitApiKeys } from './api-keys.js';
import { visitEnrollmentKeys } from './enrollment-keys.js';
import { visitPartnerPrincipals } from './partner-principals.js';
import { visitServicePrincipals } from './service-principals.js';

/** What `openapi.spec.ts` walks: every operation is called by one of them, or the spec fails. */
export const VISITS: readonly ((service: CredentialsUnderTest) => Promise<void>)[] = [
  visitApiKeys,
  visitEnrollmentKeys,
  visitPartnerPrincipals,
  visitServicePrincipals,
];
