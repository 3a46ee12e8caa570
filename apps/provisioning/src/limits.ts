import type { ConcurrencyLimit, LimitedRequest, RateLimitWindow } from '@rmm/rate-limits';

/** The rate limits of this service. @see docs/reference/rate-limits.md */
export const LIMITS = {
  /** Per address. Counts every attempt, malformed ones included, so that keys cannot be guessed. */
  enrollAgent: { name: 'agent-enroll', limit: 10, windowSeconds: 60, onRedisDown: 'refuse', countRefused: true },
  /** Per agent; heartbeats and reports together. */
  agentHeartbeat: { name: 'agent-heartbeat', limit: 120, windowSeconds: 60, onRedisDown: 'allow' },
  /** Per address: downloads are public, and those of a customer may share an address. */
  agentDownload: { name: 'agent-download', limit: 600, windowSeconds: 60, onRedisDown: 'allow' },
  /** Per user. Each preview sends up to a hundred requests to a PSA. */
  psaPreview: { name: 'psa-preview', limit: 10, windowSeconds: 3_600, onRedisDown: 'allow' },
  /** Per user. */
  psaTest: { name: 'psa-test', limit: 60, windowSeconds: 3_600, onRedisDown: 'allow' },
  /** Per user: an export reads everything of an organization. */
  organizationExport: { name: 'organization-export', limit: 10, windowSeconds: 3_600, onRedisDown: 'allow' },
  /** Per user: an export reads up to 18 MB. */
  scriptExport: { name: 'script-export', limit: 120, windowSeconds: 3_600, onRedisDown: 'allow' },
} as const satisfies Record<string, RateLimitWindow>;

/**
 * Imports and previews of one partner at the same time, and of all partners in one process, so that their work leaves
 * connections and time to other requests.
 */
export const CONCURRENT_IMPORTS: ConcurrencyLimit = {
  name: 'import',
  limit: 2,
  leaseSeconds: 30,
  retryAfterSeconds: 2,
  perProcess: 4,
};

/** Reports of one agent at the same time, and of all agents in one process: a body is up to 5 MB. */
export const CONCURRENT_REPORTS: ConcurrencyLimit = {
  name: 'agent-report',
  limit: 2,
  leaseSeconds: 30,
  retryAfterSeconds: 5,
  perProcess: 64,
};

/** Files that the users of one partner upload at the same time. */
export const CONCURRENT_UPLOADS: ConcurrencyLimit = {
  name: 'import-upload',
  limit: 2,
  leaseSeconds: 120,
  retryAfterSeconds: 5,
};

/** Builds that the users and keys of one partner upload at the same time. */
export const CONCURRENT_DEV_PUSHES: ConcurrencyLimit = {
  name: 'dev-push',
  limit: 2,
  leaseSeconds: 300,
  retryAfterSeconds: 5,
};

/** Imports of the partner that a platform administrator names, which the process counts for the administrator already. */
export const CONCURRENT_IMPORTS_OF_NAMED_PARTNER: ConcurrencyLimit = { ...CONCURRENT_IMPORTS, perProcess: undefined };

/** Previews of PSAs of one partner at the same time; they wait for the PSA, so imports are counted by themselves. */
export const CONCURRENT_PSA_PREVIEWS: ConcurrencyLimit = {
  name: 'psa-preview',
  limit: 2,
  leaseSeconds: 90,
  retryAfterSeconds: 5,
};

/** The partner of the caller, or the platform administrator: the partner that the body names is counted once it is parsed. */
export const importingTenant = ({ caller }: LimitedRequest): string => caller?.partnerId ?? caller?.userId ?? '';
