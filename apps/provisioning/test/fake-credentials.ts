import type { Msg } from 'nats';
import { randomBytes, randomUUID } from 'node:crypto';
import {
  CREDENTIALS_KEYS_RECORD_USAGE,
  CREDENTIALS_KEYS_RESOLVE,
  CREDENTIALS_ORGANIZATIONS_IN_USE,
  ENROLLMENT_KEYS_CONFIRM,
  ENROLLMENT_KEYS_RELEASE,
  ENROLLMENT_KEYS_RESERVE,
  WEBHOOK_DISPATCHER_ORGANIZATIONS_IN_USE,
  type EnrollmentRefusal,
  type EnrollmentReserveReply,
  type EnrollmentReserveRequest,
  type EnrollmentSettleRequest,
  type KeyResolveRequest,
  type KeyUsageRequest,
  type OrganizationsInUseRequest,
  type ResolvedApiKey,
} from '@rmm/contracts';
import { Broadcasts, type NatsLink } from '@rmm/messaging';
import { hashEnrollmentKey, hashKey, mintApiKey } from '@rmm/secrets';

export interface SpecKey {
  orgId: string;
  partnerId: string;
  siteId?: string | null;
  maxUsage?: number;
  enrollmentSecretHash?: string | null;
  refusal?: Exclude<EnrollmentRefusal, 'invalid_enrollment_key'>;
  pepper?: string;
}

const HEARTBEAT_MS = 500;

/**
 * Fake of credentials: enrollment keys whose uses are counted at once and settled later, and records of API keys. It replies
 * for webhook-dispatcher as well.
 */
export class FakeCredentials {
  readonly reserved = new Map<string, string>();
  readonly confirmed: string[] = [];
  readonly released: string[] = [];
  /** The reported uses of API keys. */
  readonly uses: KeyUsageRequest['uses'][number][] = [];
  private readonly keys = new Map<string, SpecKey & { id: string; used: number }>();
  private readonly apiKeys = new Map<string, ResolvedApiKey>();
  private readonly heartbeat: NodeJS.Timeout;
  /** Organizations with keys, and those with webhooks. */
  readonly organizationsWithKeys = new Set<string>();
  readonly organizationsWithWebhooks = new Set<string>();
  /** When false, nothing replies in place of webhook-dispatcher. */
  hasWebhookDispatcher = true;
  /** When false, confirmations and releases get no reply. */
  settles = true;

  constructor(
    link: NatsLink,
    private readonly pepper: string,
  ) {
    const serve = <Q>(subject: string, handle: (request: Q) => unknown) =>
      link.connection.subscribe(subject, {
        callback: (_: unknown, message: Msg) => {
          const value = handle(message.json<Q>());
          if (value !== undefined) message.respond(JSON.stringify({ value }));
        },
      });
    serve(ENROLLMENT_KEYS_RESERVE.subject, (request: EnrollmentReserveRequest) => this.reserve(request));
    serve(ENROLLMENT_KEYS_CONFIRM.subject, (request: EnrollmentSettleRequest) => this.settle(request, this.confirmed));
    serve(ENROLLMENT_KEYS_RELEASE.subject, (request: EnrollmentSettleRequest) => {
      const hash = this.reserved.get(request.deviceId);
      const key = hash && this.keys.get(hash);
      if (key && this.settles) key.used -= 1;
      return this.settle(request, this.released);
    });
    serve(CREDENTIALS_KEYS_RESOLVE.subject, ({ keyHash }: KeyResolveRequest) => this.apiKeys.get(keyHash) ?? null);
    serve(CREDENTIALS_KEYS_RECORD_USAGE.subject, ({ uses }: KeyUsageRequest) => {
      this.uses.push(...uses);
      return { recorded: uses.length };
    });
    const usedOf = (organizations: Set<string>, { orgIds }: OrganizationsInUseRequest) => {
      return { orgIds: orgIds.filter((orgId) => organizations.has(orgId)) };
    };
    serve(CREDENTIALS_ORGANIZATIONS_IN_USE.subject, (request: OrganizationsInUseRequest) =>
      usedOf(this.organizationsWithKeys, request),
    );
    serve(WEBHOOK_DISPATCHER_ORGANIZATIONS_IN_USE.subject, (request: OrganizationsInUseRequest) =>
      this.hasWebhookDispatcher ? usedOf(this.organizationsWithWebhooks, request) : undefined,
    );
    const broadcasts = new Broadcasts(link);
    let sequence = 0;
    const publishHeartbeat = () =>
      broadcasts.publishNow('credential.heartbeat', {
        publisher: 'spec',
        sequence: ++sequence,
        intervalMs: HEARTBEAT_MS,
      });
    this.heartbeat = setInterval(publishHeartbeat, HEARTBEAT_MS);
  }

  stop(): void {
    clearInterval(this.heartbeat);
  }

  /** Returns a raw API key; absent fields of the record are those of an active key with 1,000 requests an hour. */
  mintApiKey(record: Pick<ResolvedApiKey, 'orgId' | 'partnerId' | 'scopes'> & Partial<ResolvedApiKey>): string {
    const { key } = mintApiKey();
    this.apiKeys.set(hashKey(key).toString('hex'), {
      kind: 'api_key',
      keyId: randomUUID(),
      rateLimit: 1_000,
      expiresAt: null,
      expiresInMs: null,
      sourceCidrs: [],
      siteIds: null,
      deviceGroupIds: null,
      generation: 1,
      status: 'active',
      createdBy: null,
      principalId: null,
      ...record,
    });
    return key;
  }

  /** Returns a raw enrollment key. */
  mint(given: SpecKey): string {
    const key = randomBytes(32).toString('hex');
    const hash = hashEnrollmentKey(key, given.pepper ?? this.pepper).toString('hex');
    this.keys.set(hash, { ...given, id: randomUUID(), used: 0 });
    return key;
  }

  usesOf(key: string): number | undefined {
    return this.keys.get(hashEnrollmentKey(key, this.pepper).toString('hex'))?.used;
  }

  private reserve({ keyHashes, deviceId }: EnrollmentReserveRequest): EnrollmentReserveReply {
    const hash = keyHashes.find((candidate) => this.keys.has(candidate));
    const key = hash && this.keys.get(hash);
    if (!key) return { reserved: false, reason: 'invalid_enrollment_key', key: null };
    const { id: enrollmentKeyId, orgId, partnerId, siteId = null, enrollmentSecretHash = null } = key;
    const presented = { enrollmentKeyId, orgId, partnerId, siteId, enrollmentSecretHash };
    const isExhausted = key.used >= (key.maxUsage ?? 1_000);
    const refusal = key.refusal ?? (isExhausted ? 'enrollment_key_exhausted' : undefined);
    if (refusal) return { reserved: false, reason: refusal, key: presented };
    key.used += 1;
    this.reserved.set(deviceId, hash);
    return { reserved: true, ...presented };
  }

  private settle({ deviceId }: EnrollmentSettleRequest, list: string[]): { settled: boolean } | undefined {
    if (!this.settles) return undefined;
    list.push(deviceId);
    return { settled: true };
  }
}
