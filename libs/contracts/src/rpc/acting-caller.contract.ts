import { z } from 'zod';
import { accessScope, uuid } from './fields.js';

/** More organizations than a member is restricted to; a request stays below the message limit of NATS. */
const MAX_ORGANIZATIONS = 10_000;

/** The tenant that the calling service has established for its caller. Row-level security of the callee compares rows with it. */
const actingTenant = z
  .object({
    scope: accessScope,
    partnerId: uuid.nullable(),
    orgId: uuid.nullable(),
    orgAccess: z.enum(['all', 'selected', 'none']),
    orgIds: z.array(uuid).max(MAX_ORGANIZATIONS),
  })
  .refine(({ scope, partnerId }) => scope === 'system' || partnerId !== null, 'needs a partner')
  .refine(({ scope, orgId }) => scope !== 'organization' || orgId !== null, 'needs an organization');
const isOf = (scope: string) => (tenant: { scope: string }) => tenant.scope === scope;

const actingUser = z.object({
  kind: z.literal('user'),
  userId: uuid,
  /** By which identity resolves the user itself; other services rely on the check of the calling one. */
  sessionId: uuid,
  tenant: actingTenant,
});
const actingApiKey = z.object({
  kind: z.literal('api_key'),
  keyId: uuid,
  tenant: actingTenant.refine(isOf('organization'), 'must be an organization'),
});
const actingPartnerKey = z.object({
  kind: z.literal('partner_key'),
  keyId: uuid,
  principalId: uuid,
  tenant: actingTenant.refine(isOf('partner'), 'must be a partner'),
});

/**
 * The caller whom a request between services acts for. Every request that reads or writes data of a tenant carries it;
 * the callee runs its statements as this caller. Requests without one are work across tenants: directories, sign-up,
 * enrollment and reservations.
 * @see docs/reference/requests.md
 */
export const actingCallerSchema = z.discriminatedUnion('kind', [actingUser, actingApiKey, actingPartnerKey]);
export type ActingCaller = z.infer<typeof actingCallerSchema>;

export const actingUserSchema = actingUser;
export type ActingUser = z.infer<typeof actingUser>;

export const actingApiKeySchema = actingApiKey;
export type ActingApiKey = z.infer<typeof actingApiKeySchema>;

export const actingPartnerKeySchema = actingPartnerKey;

/** More sites or device groups than a member is restricted to. */
const MAX_RESTRICTION = 10_000;

/** An API key with the restriction of its creator, for a callee that shows single devices to it. Null is no restriction. */
export const restrictedApiKeySchema = actingApiKey.extend({
  siteIds: z.array(uuid).max(MAX_RESTRICTION).nullable(),
  deviceGroupIds: z.array(uuid).max(MAX_RESTRICTION).nullable(),
});
export type RestrictedApiKey = z.infer<typeof restrictedApiKeySchema>;
