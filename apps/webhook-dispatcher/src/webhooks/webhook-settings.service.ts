import { Injectable } from '@nestjs/common';
import { Outbound, UnsafeAddress } from '@rmm/outbound';
import { Clock, ValidationError } from '@rmm/service-kit';
import type { CreatePartnerWebhookDto } from './dto/create-partner-webhook.dto.js';
import type { UpdateWebhookDto } from './dto/update-webhook.dto.js';
import { unsupportedEvents } from './event-catalog.constants.js';
import { headerErrors, type WebhookHeader } from './webhook-headers.policy.js';
import { isMaskedForm, isSecretHeader, MASK, containsMask } from './webhook-masking.policy.js';
import { WebhookSealingService } from './webhook-sealing.service.js';
import {
  currentOverlap,
  type NewWebhookSettings,
  NO_OVERLAP,
  type Webhook,
  type WebhookSettings,
} from './webhook.entity.js';
import { InvalidWebhookUrl, UnsupportedEventType } from './webhook.errors.js';
import { toStoredStatus } from './webhook.mapper.js';

/** Validates what a caller sent and seals it for storage. */
@Injectable()
export class WebhookSettingsService {
  constructor(
    private readonly outbound: Outbound,
    private readonly sealing: WebhookSealingService,
    private readonly clock: Clock,
  ) {}

  /**
   * Returns the settings of a new webhook. Call it outside of a transaction, since it queries DNS.
   * @throws UnsupportedEventType, ValidationError, InvalidWebhookUrl
   */
  async create(id: string, dto: CreatePartnerWebhookDto): Promise<NewWebhookSettings> {
    const { url, secret, headers = [], ...columns } = dto;
    assertSupportedEvents(dto.events);
    assertValidHeaders(headers);
    assertNoMask('secret', secret);
    headers.forEach(({ key, value }, i) => isSecretHeader(key) && assertNoMask(`headers.${i}.value`, value));
    await this.assertAllowedUrl(url);
    return {
      ...columns,
      urlSealed: this.sealing.sealUrl(id, url),
      secretSealed: secret === undefined ? null : this.sealing.sealSecret(id, secret),
      headers: this.sealing.sealHeaders(id, headers),
    };
  }

  /**
   * Validates a patch before the transaction, since the URL needs DNS.
   * @returns the patch without a URL that equals the stored one: should the row change before it is locked, the patch
   *   keeps the URL stored by then
   * @throws UnsupportedEventType, ValidationError, InvalidWebhookUrl
   */
  async checkPatch(stored: Webhook, dto: UpdateWebhookDto): Promise<UpdateWebhookDto> {
    if (Object.values(dto).every((value) => value === undefined)) throw ValidationError.nothingToChange();
    if (dto.events) assertSupportedEvents(dto.events);
    if (dto.headers) assertValidHeaders(dto.headers);
    if (dto.url === undefined) return dto;
    if (this.isStoredUrl(stored, dto.url)) return { ...dto, url: undefined };
    await this.assertAllowedUrl(dto.url);
    return dto;
  }

  /**
   * Returns the columns a patch changes. Masked values keep what is stored.
   * @param patch  as `checkPatch` returned it
   * @throws ValidationError
   */
  applyPatch(stored: Webhook, patch: UpdateWebhookDto): Partial<WebhookSettings> {
    const { id } = stored;
    const { url, secret, headers, status, ...columns } = patch;
    const keepsSecret = secret === undefined || secret === MASK;
    if (stored.secretSealed === null) assertNoMask('secret', secret);
    return {
      ...columns,
      urlSealed: url && this.sealing.sealUrl(id, url),
      ...(keepsSecret
        ? currentOverlap(stored, this.clock.now())
        : { ...NO_OVERLAP, secretSealed: secret === null ? null : this.sealing.sealSecret(id, secret) }),
      headers: headers && this.mergeHeaders(stored, headers),
      status: status && toStoredStatus(status),
    };
  }

  private mergeHeaders(stored: Webhook, headers: readonly WebhookHeader[]): WebhookHeader[] {
    const sealed = new Map(stored.headers.map(({ key, value }) => [key.toLowerCase(), value]));
    return headers.map(({ key, value }, i) => {
      const kept = value === MASK ? sealed.get(key.toLowerCase()) : undefined;
      if (kept !== undefined) return { key, value: kept };
      if (isSecretHeader(key)) assertNoMask(`headers.${i}.value`, value);
      return this.sealing.sealHeaders(stored.id, [{ key, value }])[0];
    });
  }

  private isStoredUrl(stored: Webhook, url: string): boolean {
    try {
      return isMaskedForm(this.sealing.openUrl(stored.id, stored.urlSealed), url);
    } catch {
      return false;
    }
  }

  /** @throws InvalidWebhookUrl */
  private async assertAllowedUrl(url: string): Promise<void> {
    // A masked URL that was edited and sent back: the masked secret is unknown.
    if (containsMask(url)) throw new InvalidWebhookUrl(['it contains a mask in place of a secret']);
    try {
      await this.outbound.assertAllowed(url);
    } catch (error) {
      if (error instanceof UnsafeAddress) throw new InvalidWebhookUrl(error.reasons);
      throw error;
    }
  }
}

function assertSupportedEvents(events: readonly string[]): void {
  const unsupported = unsupportedEvents(events);
  if (unsupported.length > 0) throw new UnsupportedEventType(unsupported);
}

function assertValidHeaders(headers: readonly WebhookHeader[]): void {
  const fieldErrors = headerErrors(headers);
  if (Object.keys(fieldErrors).length > 0) throw new ValidationError(undefined, { fieldErrors });
}

/** Refuses a mask where no value is stored that it could keep. @throws ValidationError */
export function assertNoMask(path: string, value: string | null | undefined): void {
  if (value === MASK) throw ValidationError.forField(path, 'has no stored value to keep');
}
