import type { IdentityReplica } from '../identity-test-app.js';
import { callAccountExamples } from './account.js';
import { callAuditExamples } from './audit.js';
import { callCommonExamples } from './common.js';
import { callMfaExamples, callPasskeyExamples, callSmsExamples } from './mfa.js';
import { callPasswordsExamples } from './passwords.js';
import { callRolesExamples } from './roles.js';
import { callScimExamples } from './scim.js';
import { callSecurityPolicyExamples } from './security-policy.js';
import { callSessionsExamples } from './sessions.js';
import { callSsoExamples } from './sso.js';
import { callUsersExamples } from './users.js';

/** The calls of `openapi.spec.ts`, which fails when no example calls an operation. */
export const API_EXAMPLES: readonly ((identity: IdentityReplica) => Promise<void>)[] = [
  callAccountExamples,
  callAuditExamples,
  callCommonExamples,
  callMfaExamples,
  callPasskeyExamples,
  callPasswordsExamples,
  callRolesExamples,
  callScimExamples,
  callSecurityPolicyExamples,
  callSessionsExamples,
  callSmsExamples,
  callSsoExamples,
  callUsersExamples,
];
