import type { RunningIdentity } from '../identity-fleet.js';
import { visitAccount } from './account.js';
import { visitAudit } from './audit.js';
import { visitBasics } from './basics.js';
import { visitMfa } from './mfa.js';
import { visitPasswords } from './passwords.js';
import { visitRoles } from './roles.js';
import { visitSecurityPolicy } from './security-policy.js';
import { visitSessions } from './sessions.js';
import { visitUsers } from './users.js';

/** What `openapi.spec.ts` walks: every operation is called by one of them, or the spec fails. */
export const VISITS: readonly ((identity: RunningIdentity) => Promise<void>)[] = [
  visitAccount,
  visitAudit,
  visitBasics,
  visitMfa,
  visitPasswords,
  visitRoles,
  visitSecurityPolicy,
  visitSessions,
  visitUsers,
];
