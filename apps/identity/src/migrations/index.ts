import { CreateIdentity1767225600000 } from './1767225600000-create-identity.js';
import { CompletePeople1767312000000 } from './1767312000000-complete-people.js';
import { KeepPolicies1767312001000 } from './1767312001000-keep-policies.js';
import { LetTheWorkerEndMemberships1767398400000 } from './1767398400000-let-the-worker-end-memberships.js';
import { CountMembers1767484800000 } from './1767484800000-count-members.js';
import { FindAuditRows1767571200000 } from './1767571200000-find-audit-rows.js';

/** Oldest first. */
export const MIGRATIONS = [
  CreateIdentity1767225600000,
  CompletePeople1767312000000,
  KeepPolicies1767312001000,
  LetTheWorkerEndMemberships1767398400000,
  CountMembers1767484800000,
  FindAuditRows1767571200000,
];
