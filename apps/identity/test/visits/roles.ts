import type { RunningIdentity } from '../identity-fleet.js';

/** Calls each operation of this feature so that it succeeds, those with several shapes once for each. */
export async function visitRoles(_identity: RunningIdentity): Promise<void> {
  // filled by the feature
}
