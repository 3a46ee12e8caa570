/**
 * Compiled with the specs, never run: shows that misspelt events, broadcasts, audit actions and RPC payloads do not
 * compile. An `@ts-expect-error` without an error fails the build.
 */
import {
  type ActingCaller,
  IDENTITY_MAIL_SEND,
  PROVISIONING_SITES_GET,
  type DomainEvent,
  type IntegrationEvent,
  type RpcReply,
  type RpcRequest,
} from '@rmm/contracts';
import type { Broadcasts } from './broadcasts/broadcasts.service.js';
import {
  OnDomainEvent,
  OnIntegrationEvent,
  RpcHandler,
  type AuditTrail,
  type AuditedCaller,
  type Outbox,
  type OutboxTransaction,
  type RpcClient,
} from './index.js';

declare const outbox: Outbox;
declare const audit: AuditTrail;
declare const rpc: RpcClient;
declare const broadcasts: Broadcasts;
declare const tx: OutboxTransaction;
declare const caller: AuditedCaller;

const aggregate = { aggregateId: 'd1', partnerId: 'p1', orgId: 'o1' };
const login = { userId: 'u1', email: 'ann@example.com', mfa: true, method: 'password' as const };

export async function domainEvents(): Promise<void> {
  await outbox.publish(tx, { stream: 'events', type: 'user.login', ...aggregate, data: login });
  // @ts-expect-error: misspelt event type
  await outbox.publish(tx, { stream: 'events', type: 'user.logn', ...aggregate, data: login });
  // @ts-expect-error: the data of another event
  await outbox.publish(tx, { stream: 'events', type: 'device.online', ...aggregate, data: login });
  // @ts-expect-error: a domain event without an organization
  await outbox.publish(tx, { stream: 'events', type: 'user.login', ...aggregate, orgId: null, data: login });
}

export async function integrationEvents(): Promise<void> {
  const data = { userId: 'u1', mfaEpoch: 2 };
  await outbox.publish(tx, { stream: 'internal', type: 'user.mfa_reset', ...aggregate, data });
  // @ts-expect-error: misspelt integration event
  await outbox.publish(tx, { stream: 'internal', type: 'user.mfa_rest', ...aggregate, data });
  // @ts-expect-error: an integration event on the stream of domain events
  await outbox.publish(tx, { stream: 'events', type: 'user.mfa_reset', ...aggregate, data });
}

export async function broadcastMessages(): Promise<void> {
  await outbox.publish(tx, { stream: 'broadcast', type: 'access.changed', ...aggregate, data: { reason: 'role' } });
  // @ts-expect-error: misspelt broadcast
  await outbox.publish(tx, { stream: 'broadcast', type: 'access.change', ...aggregate, data: { reason: 'role' } });
  broadcasts.subscribe('webhook.changed', ({ data }) => void data.webhookId);
  // @ts-expect-error: misspelt topic
  broadcasts.subscribe('webhook.change', () => undefined);
  // @ts-expect-error: misspelt field of the data
  broadcasts.publishNow('webhook.due', { form: 'replica-1' });
}

export async function auditActions(): Promise<void> {
  await audit.record(tx, caller, 'api_key.create', { type: 'api_key' });
  await audit.recordDirect(caller, 'request.patch', { type: 'route' });
  // @ts-expect-error: misspelt audit action
  await audit.record(tx, caller, 'api_key.creat', { type: 'api_key' });
  // @ts-expect-error: a method that changes nothing has no audit action
  await audit.recordDirect(caller, 'request.get', { type: 'route' });
}

declare const acting: ActingCaller;

export async function calls(): Promise<unknown> {
  const { site } = await rpc.call(PROVISIONING_SITES_GET, { caller: acting, orgId: 'o1', siteId: 's1' });
  // @ts-expect-error: misspelt field of the request
  await rpc.call(PROVISIONING_SITES_GET, { caller: acting, orgId: 'o1', sideId: 's1' });
  const mail = { idempotencyKey: 'k', to: [], template: 't', values: {} };
  // @ts-expect-error: a permission names a resource and an action
  await rpc.call(IDENTITY_MAIL_SEND, { ...mail, audience: { partnerId: 'p1', orgId: 'o1', permission: 'devices' } });
  // @ts-expect-error: misspelt field of the reply
  return site?.nam;
}

export class SpecHandlers {
  @RpcHandler(PROVISIONING_SITES_GET)
  get({ siteId }: RpcRequest<typeof PROVISIONING_SITES_GET>): RpcReply<typeof PROVISIONING_SITES_GET> {
    return { site: siteId === '' ? null : null };
  }

  // @ts-expect-error: the handler expects a field that the contract does not have
  @RpcHandler(PROVISIONING_SITES_GET)
  getByName(request: { orgId: string; siteName: string }): RpcReply<typeof PROVISIONING_SITES_GET> {
    return { site: request.siteName === '' ? null : null };
  }

  // @ts-expect-error: the reply of another contract
  @RpcHandler(PROVISIONING_SITES_GET)
  getAccepted(): { accepted: boolean } {
    return { accepted: true };
  }

  @OnIntegrationEvent('partner.created', 'partner.updated')
  partnerChanged(event: IntegrationEvent<'partner.created' | 'partner.updated'>): void {
    void event.data.slug;
  }

  // @ts-expect-error: misspelt integration event
  @OnIntegrationEvent('partner.creatd')
  partnerCreated(): void {
    // never called
  }

  // @ts-expect-error: the handler of another event
  @OnIntegrationEvent('site.deleted')
  siteDeleted(event: IntegrationEvent<'partner.created'>): void {
    void event.data.slug;
  }

  @OnDomainEvent('device.enrolled')
  enrolled(event: DomainEvent<'device.enrolled'>): void {
    void event.data.hostname;
  }

  // @ts-expect-error: misspelt domain event
  @OnDomainEvent('device.enroled')
  misspelt(): void {
    // never called
  }
}
