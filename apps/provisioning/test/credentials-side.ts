import {
  ENROLLMENT_KEYS_CONFIRM,
  ENROLLMENT_KEYS_RELEASE,
  ENROLLMENT_KEYS_RESERVE,
  type EnrollmentRefusal,
  type EnrollmentReserveReply,
  type EnrollmentReserveRequest,
  type EnrollmentSettleRequest,
} from '@rmm/contracts';
import type { NatsLink } from '@rmm/messaging';
import { hashEnrollmentKey } from '@rmm/secrets';
import type { Msg } from 'nats';
import { randomBytes, randomUUID } from 'node:crypto';

export interface SpecKey {
  orgId: string;
  partnerId: string;
  siteId?: string | null;
  maxUsage?: number;
  enrollmentSecretHash?: string | null;
  refusal?: Exclude<EnrollmentRefusal, 'invalid_enrollment_key'>;
  pepper?: string;
}

/** Credentials as enrolment meets it: keys with their uses, counted at once and settled later. */
export class CredentialsSide {
  readonly reserved = new Map<string, string>();
  readonly confirmed: string[] = [];
  readonly released: string[] = [];
  private readonly keys = new Map<string, SpecKey & { id: string; used: number }>();
  /** False: confirmations and releases are never answered. */
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
  }

  /** @returns the raw key, which only the agent knows */
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
    if (!key) return { reserved: false, reason: 'invalid_enrollment_key' };
    if (key.refusal) return { reserved: false, reason: key.refusal };
    if (key.used >= (key.maxUsage ?? 1_000)) return { reserved: false, reason: 'enrollment_key_exhausted' };
    key.used += 1;
    this.reserved.set(deviceId, hash);
    const { id: enrollmentKeyId, orgId, partnerId, siteId = null, enrollmentSecretHash = null } = key;
    return { reserved: true, enrollmentKeyId, orgId, partnerId, siteId, enrollmentSecretHash };
  }

  private settle({ deviceId }: EnrollmentSettleRequest, list: string[]): { settled: boolean } | undefined {
    if (!this.settles) return undefined;
    list.push(deviceId);
    return { settled: true };
  }
}
