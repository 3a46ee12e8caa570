import { Column, CreateDateColumn, Entity, PrimaryColumn, UpdateDateColumn } from 'typeorm';
import type { WebhookHeader } from './webhook-headers.policy.js';

/** The stored status; the API names them active, paused and failed. */
export type StoredWebhookStatus = 'active' | 'disabled' | 'error';

/** A subscription. The URL, the secrets and the values of headers are sealed with the key ring. */
@Entity({ name: 'webhook' })
export class Webhook {
  @PrimaryColumn('uuid') id!: string;
  @Column('uuid', { name: 'partner_id' }) partnerId!: string;
  /** Null for a webhook of the partner, which gets the events of all its organizations. */
  @Column('uuid', { name: 'org_id', nullable: true }) orgId!: string | null;
  @Column('text') name!: string;
  @Column('text', { nullable: true }) description!: string | null;
  @Column('text', { name: 'url_sealed' }) urlSealed!: string;
  @Column('text', { name: 'secret_sealed', nullable: true }) secretSealed!: string | null;
  /** The secret before the last rotation; it signs as well until `secretOverlapUntil`. Both are set, or neither. */
  @Column('text', { name: 'previous_secret_sealed', nullable: true }) previousSecretSealed!: string | null;
  @Column('timestamptz', { name: 'secret_overlap_until', nullable: true }) secretOverlapUntil!: Date | null;
  /** Adds the headers of Standard Webhooks to deliveries. */
  @Column('boolean', { name: 'standard_webhooks' }) standardWebhooks!: boolean;
  @Column('jsonb') headers!: WebhookHeader[];
  @Column('text', { array: true }) events!: string[];
  @Column('text') status!: StoredWebhookStatus;
  /** Overrides of the default retry policy, unvalidated; the API cannot set them. */
  @Column('jsonb', { name: 'retry_policy', nullable: true }) retryPolicy!: unknown;
  @Column('uuid', { name: 'created_by', nullable: true }) createdBy!: string | null;
  @CreateDateColumn({ type: 'timestamptz', name: 'created_at' }) createdAt!: Date;
  @UpdateDateColumn({ type: 'timestamptz', name: 'updated_at' }) updatedAt!: Date;
}

/** The organization of a webhook, or its partner alone. */
export type WebhookOwner = Pick<Webhook, 'partnerId' | 'orgId'>;

/** `organization`: webhooks of an organization; `partner`: those of a partner as a whole. */
export type WebhookScope = 'organization' | 'partner';

/**
 * Returns the id under which a webhook is matched, ordered, limited and assigned to a replica: that of its organization;
 * that of its partner when it is one of the partner, whose webhooks count as those of one more organization.
 */
export const ownerOf = ({ orgId, partnerId }: WebhookOwner): string => orgId ?? partnerId;

/** The columns that a request creates or changes. */
export type WebhookSettings = Omit<
  Webhook,
  'id' | 'partnerId' | 'orgId' | 'retryPolicy' | 'createdBy' | 'createdAt' | 'updatedAt'
>;

/** The columns of a create request; the others get their defaults. */
export type NewWebhookSettings = Partial<WebhookSettings> & Pick<WebhookSettings, 'name' | 'urlSealed' | 'events'>;

export type SecretOverlap = Pick<Webhook, 'previousSecretSealed' | 'secretOverlapUntil'>;

export const NO_OVERLAP: SecretOverlap = { previousSecretSealed: null, secretOverlapUntil: null };

/** Returns the overlap while it lasts, and `NO_OVERLAP` once it has ended. */
export function currentOverlap({ previousSecretSealed, secretOverlapUntil }: SecretOverlap, now: Date): SecretOverlap {
  const isInForce = secretOverlapUntil !== null && secretOverlapUntil > now;
  return isInForce ? { previousSecretSealed, secretOverlapUntil } : NO_OVERLAP;
}
