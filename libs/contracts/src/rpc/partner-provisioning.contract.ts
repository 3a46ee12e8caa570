import { z } from 'zod';
import { actingPartnerKeySchema } from './acting-caller.contract.js';
import type { ExportedOrganization, ExportedSite, ExportReply } from './export.contract.js';
import { sha256Hex, timestamp, uuid } from './fields.js';
import { replyOf, rpc, type RpcRequest } from './rpc-contract.js';

/** The writes of the partner interface: partner-gateway checks the key and its scope, the owner of the data does the rest. */

/** The idempotency key of the request that a write is for; the owner stores its response in the transaction of the write. */
const forwardedIdempotency = z.object({
  /** Hash of caller, tenant, method, path and key. */
  id: sha256Hex,
  callerId: z.string().min(1).max(100),
  /** SHA-256 of the bytes of the body. */
  bodyHash: sha256Hex,
});
export type ForwardedIdempotency = z.infer<typeof forwardedIdempotency>;

/** The reply of a write. */
export interface PartnerWriteReply<T> {
  record: T;
  /** True for the stored response of an earlier request with the same idempotency key. */
  replayed: boolean;
}

const writeOf = <Shape extends z.ZodRawShape>(shape: Shape) =>
  z.object({
    caller: actingPartnerKeySchema,
    /** Null without an idempotency key. */
    idempotency: forwardedIdempotency.nullable(),
    ...shape,
  });

const name = z.string().min(1).max(255);
const line = z.string().max(255).nullable();

/** A record as exports send it. */
export type CreatedRecord<T> = ExportReply<T>['records'][number];

/** Creates an organization of the partner. */
export const PROVISIONING_PARTNER_ORGANIZATIONS_CREATE = rpc('provisioning.partner-organizations.create', {
  request: writeOf({
    name,
    slug: z
      .string()
      .regex(/^[a-z0-9]+(?:-[a-z0-9]+)*$/)
      .max(100),
    type: z.enum(['customer', 'internal']),
    status: z.enum(['active', 'trial']),
  }),
  reply: replyOf<PartnerWriteReply<CreatedRecord<ExportedOrganization>>>(),
  timeoutMs: 10_000,
});
export type PartnerOrganizationCreateRequest = RpcRequest<typeof PROVISIONING_PARTNER_ORGANIZATIONS_CREATE>;

/** Creates a site of an organization of the partner. */
export const PROVISIONING_PARTNER_SITES_CREATE = rpc('provisioning.partner-sites.create', {
  request: writeOf({
    orgId: uuid,
    name,
    timezone: z.string().max(64),
    address: z
      .object({ line1: line, line2: line, city: line, region: line, postalCode: line, country: line })
      .nullable(),
    contact: z.object({ name: line, email: line, phone: line }).nullable(),
  }),
  reply: replyOf<PartnerWriteReply<CreatedRecord<ExportedSite>>>(),
  timeoutMs: 10_000,
});
export type PartnerSiteCreateRequest = RpcRequest<typeof PROVISIONING_PARTNER_SITES_CREATE>;

/** An enrollment key with its secrets, which no other reply contains. */
export interface CreatedEnrollmentKey {
  id: string;
  orgId: string;
  siteId: string | null;
  name: string;
  usageCount: number;
  maxUsage: number | null;
  expiresAt: string;
  createdAt: string;
  key: string;
  /** Null unless one was asked for. */
  enrollmentSecret: string | null;
}

/** Creates an enrollment key of an organization of the partner. */
export const CREDENTIALS_PARTNER_ENROLLMENT_KEYS_CREATE = rpc('credentials.partner-enrollment-keys.create', {
  request: writeOf({
    orgId: uuid,
    siteId: uuid.nullable(),
    name,
    maxUsage: z.int().min(1).max(100_000),
    ttlMinutes: z.int().min(1).max(525_600).nullable(),
    expiresAt: timestamp.nullable(),
    issueSecret: z.boolean(),
    /** True: only a principal with an expiry or source addresses may create keys. */
    requireRestrictedPrincipal: z.boolean(),
  }),
  reply: replyOf<PartnerWriteReply<CreatedEnrollmentKey>>(),
  timeoutMs: 10_000,
});
export type PartnerEnrollmentKeyCreateRequest = RpcRequest<typeof CREDENTIALS_PARTNER_ENROLLMENT_KEYS_CREATE>;
