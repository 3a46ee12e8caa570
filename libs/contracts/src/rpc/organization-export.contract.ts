import { z } from 'zod';
import { actingUserSchema } from './acting-caller.contract.js';
import { uuid } from './fields.js';
import { replyOf, rpc, type RpcRequest } from './rpc-contract.js';

/** The records of an organization that the other services export. @see docs/reference/tenancy.md#export */
export const IDENTITY_EXPORTS = [
  'member',
  'invitation',
  'role',
  'security_policy',
  'scim_user',
  'scim_group',
  'audit_entry',
] as const;
export const CREDENTIALS_EXPORTS = ['api_key', 'service_principal', 'enrollment_key'] as const;
export const WEBHOOK_EXPORTS = ['webhook'] as const;

/** One page, below the message limit of NATS. */
export interface OrganizationExportPage {
  records: object[];
  /** Position of the last record; null on the last page. */
  next: string | null;
}

const page = <Resource extends string>(name: string, resources: readonly [Resource, ...Resource[]]) =>
  rpc(name, {
    request: z.object({
      /** Provisioning has checked that the caller may export the organization; the callee reads what the caller may read. */
      caller: actingUserSchema,
      orgId: uuid,
      partnerId: uuid,
      resource: z.enum(resources),
      /** Null on the first page. */
      after: z.string().max(2_000).nullable(),
    }),
    reply: replyOf<OrganizationExportPage>(),
    timeoutMs: 10_000,
    idempotent: true,
  });

export const IDENTITY_ORGANIZATION_EXPORT = page('identity.organization-export.page', IDENTITY_EXPORTS);
export const CREDENTIALS_ORGANIZATION_EXPORT = page('credentials.organization-export.page', CREDENTIALS_EXPORTS);
export const WEBHOOK_DISPATCHER_ORGANIZATION_EXPORT = page(
  'webhook-dispatcher.organization-export.page',
  WEBHOOK_EXPORTS,
);
export type IdentityExportRequest = RpcRequest<typeof IDENTITY_ORGANIZATION_EXPORT>;
export type CredentialsExportRequest = RpcRequest<typeof CREDENTIALS_ORGANIZATION_EXPORT>;
export type WebhookExportRequest = RpcRequest<typeof WEBHOOK_DISPATCHER_ORGANIZATION_EXPORT>;
