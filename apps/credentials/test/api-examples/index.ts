import type { CredentialsTestApp } from '../credentials-test-app.js';
import { callApiKeys } from './api-keys.js';
import { callEnrollmentKeys } from './enrollment-keys.js';
import { callPartnerPrincipals } from './partner-principals.js';
import { callServicePrincipals } from './service-principals.js';

/** The calls of `openapi.spec.ts`; it fails for an operation that none of them calls. */
export const API_EXAMPLES: readonly ((service: CredentialsTestApp) => Promise<void>)[] = [
  callApiKeys,
  callEnrollmentKeys,
  callPartnerPrincipals,
  callServicePrincipals,
];
