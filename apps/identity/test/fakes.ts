import { randomUUID } from 'node:crypto';
import type { AuditTrail, AuditedCaller } from '@rmm/messaging';
import type { TenantDatabase, WorkerDatabase } from '@rmm/persistence';
import type { RateLimits } from '@rmm/rate-limits';
import { RateLimitedError } from '@rmm/service-kit';
import type { IdentityConfig } from '../src/config.js';
import type { SsoProvider } from '../src/sso/sso-provider.entity.js';
import type { User, UserMembership } from '../src/users/user.types.js';

export interface RecordedEntry {
  caller: AuditedCaller;
  action: string;
  resource: { type: string; id?: string | null; name?: string | null };
  details: Record<string, unknown> | undefined;
  result: string;
}

/** Keeps audit entries instead of publishing them. */
export class FakeAudit {
  readonly entries: RecordedEntry[] = [];
  /** Makes entries without a transaction fail. */
  failure?: Error;

  get asTrail(): AuditTrail {
    return this as unknown as AuditTrail;
  }

  get actions(): string[] {
    return this.entries.map(({ action }) => action);
  }

  record(_tx: unknown, ...entry: EntryArguments): Promise<void> {
    this.entries.push(toEntry(...entry));
    return Promise.resolve();
  }

  recordDirect(...entry: EntryArguments): Promise<void> {
    if (this.failure) return Promise.reject(this.failure);
    this.entries.push(toEntry(...entry));
    return Promise.resolve();
  }
}

type EntryArguments = [
  caller: AuditedCaller,
  action: string,
  resource: RecordedEntry['resource'],
  details?: Record<string, unknown>,
  result?: string,
];

const toEntry = (...[caller, action, resource, details, result = 'success']: EntryArguments): RecordedEntry => ({
  ...{ caller, action, resource, details, result },
});

/** Counts nothing: keeps what was hit, as `name key`. */
export class FakeLimits {
  readonly hits: string[] = [];
  /** The name of a limit without attempts left. */
  exhausted?: string;

  get asLimits(): RateLimits {
    return this as unknown as RateLimits;
  }

  hit({ name }: { name: string }, key: string): Promise<void> {
    this.hits.push(`${name} ${key}`);
    return name === this.exhausted ? Promise.reject(new RateLimitedError()) : Promise.resolve();
  }
}

/** Builds a configuration with the given fields, whose limits have their names alone. */
export const buildConfig = (changes: Partial<IdentityConfig> = {}): IdentityConfig => {
  const limits = new Proxy({}, { get: (_, name) => ({ name: String(name) }) });
  return { limits, ...changes } as unknown as IdentityConfig;
};

/** Runs the work of a transaction without one. */
const withoutTransaction = {
  transaction: (...given: unknown[]) => Promise.resolve((given.at(-1) as (tx: unknown) => unknown)({})),
  reader: () => ({}),
};
export const fakeWorker = withoutTransaction as unknown as WorkerDatabase;
export const fakeTenants = withoutTransaction as unknown as TenantDatabase;

export const buildMembership = (changes: Partial<UserMembership> = {}): UserMembership =>
  ({
    ...{ id: randomUUID(), scope: 'organization', partnerId: randomUUID(), orgId: randomUUID() },
    ...{ partnerStatus: 'active', orgStatus: 'active', ssoEnforced: false, roleForcesMfa: false },
    ...changes,
  }) as UserMembership;

export const buildUser = (changes: Partial<User> = {}): User =>
  ({
    ...{ id: randomUUID(), email: 'robin@users.test', name: 'Robin Vale', status: 'active', passwordHash: null },
    ...{ isPlatformAdmin: false, mfaEnabled: false, mfaMethod: null, phoneNumber: null, phoneVerified: false },
    ...{ authEpoch: 1, mfaEpoch: 1, memberships: [] },
    ...changes,
  }) as unknown as User;

/** Builds an active OpenID Connect provider of an organization. */
export const buildProvider = (changes: Partial<SsoProvider> = {}): SsoProvider =>
  ({
    ...{ id: randomUUID(), partnerId: randomUUID(), orgId: randomUUID(), name: 'Entra', type: 'oidc', preset: null },
    ...{ status: 'active', issuer: 'https://idp.test', clientId: 'rmm', clientSecretSealed: null, metadata: null },
    ...{ autoProvision: false, defaultRoleId: null, defaultRoleConfiguredBy: null, enforceSso: false },
    ...{ trustsIdpMfa: false, allowedDomains: [], configVersion: 3 },
    ...changes,
  }) as SsoProvider;
