import { Injectable } from '@nestjs/common';
import { Outbound, UnsafeAddress } from '@rmm/outbound';
import { Clock, ValidationError } from '@rmm/service-kit';
import { NO_OVERLAP, overlapAt } from './secret-overlap.js';
import type { CreateWebhookDto } from './dto/create-webhook.dto.js';
import type { UpdateWebhookDto } from './dto/update-webhook.dto.js';
import { unsupportedEvents } from './event-patterns.js';
import { InvalidWebhookUrl, UnsupportedEventType } from './webhook.errors.js';
import { headerErrors, type WebhookHeader } from './webhook-headers.js';
import { carriesMask, isSecretHeader, isShownAs, MASK } from './webhook-masking.js';
import type { WebhookRow, WebhookSettings } from './webhook-row.js';
import { WebhookSealingService } from './webhook-sealing.service.js';
import { toStoredStatus } from './webhook-status.js';

/** What a caller sent, checked and sealed. */
@Injectable()
export class WebhookSettingsService {
  constructor(
    private readonly outbound: Outbound,
    private readonly sealing: WebhookSealingService,
    private readonly clock: Clock,
  ) {}

  /** Asks DNS: to be called outside of a transaction. @throws UnsupportedEventType, ValidationError, InvalidWebhookUrl */
  async forCreate(id: string, dto: CreateWebhookDto): Promise<WebhookSettings> {
    const headers = dto.headers ?? [];
    assertEvents(dto.events);
    assertHeaders(headers);
    assertNoMask('secret', dto.secret);
    headers.forEach(({ key, value }, i) => isSecretHeader(key) && assertNoMask(`headers.${i}.value`, value));
    await this.assertUrl(dto.url);
    return {
      name: dto.name,
      urlSealed: this.sealing.sealUrl(id, dto.url),
      secretSealed: dto.secret === undefined ? null : this.sealing.sealSecret(id, dto.secret),
      ...NO_OVERLAP,
      standardWebhooks: dto.standardWebhooks ?? false,
      headers: this.sealing.sealHeaders(id, headers),
      events: dto.events,
      status: 'active',
    };
  }

  /**
   * The checks of a patch that need the network. The stored row tells whether its URL is a new one.
   * @returns the patch, without a URL that only says "as it was": should the row change before it is locked, that
   *   still means its URL, not the one seen here
   */
  async checkForUpdate(stored: WebhookRow, dto: UpdateWebhookDto): Promise<UpdateWebhookDto> {
    if (Object.values(dto).every((value) => value === undefined)) throw new ValidationError('Nothing to change');
    if (dto.events) assertEvents(dto.events);
    if (dto.headers) assertHeaders(dto.headers);
    if (dto.url === undefined) return dto;
    if (this.isStoredUrl(stored, dto.url)) return { ...dto, url: undefined };
    await this.assertUrl(dto.url);
    return dto;
  }

  /**
   * The row with the patch laid over it: what came back masked stays as it is stored.
   * @param dto  as `checkForUpdate` returned it
   */
  forUpdate(stored: WebhookRow, dto: UpdateWebhookDto): WebhookSettings {
    const { id } = stored;
    const keepsSecret = dto.secret === undefined || dto.secret === MASK;
    if (stored.secretSealed === null) assertNoMask('secret', dto.secret);
    return {
      name: dto.name ?? stored.name,
      urlSealed: dto.url === undefined ? stored.urlSealed : this.sealing.sealUrl(id, dto.url),
      ...(keepsSecret ? overlapAt(stored, this.clock.now()) : NO_OVERLAP),
      standardWebhooks: dto.standardWebhooks ?? stored.standardWebhooks,
      secretSealed: keepsSecret ? stored.secretSealed : sealOrNull(dto.secret, (s) => this.sealing.sealSecret(id, s)),
      headers: dto.headers === undefined ? stored.headers : this.mergeHeaders(stored, dto.headers),
      events: dto.events ?? stored.events,
      status: dto.status === undefined ? stored.status : toStoredStatus(dto.status),
    };
  }

  private mergeHeaders(stored: WebhookRow, given: readonly WebhookHeader[]): WebhookHeader[] {
    const sealed = new Map(stored.headers.map(({ key, value }) => [key.toLowerCase(), value]));
    return given.map(({ key, value }, i) => {
      const kept = value === MASK ? sealed.get(key.toLowerCase()) : undefined;
      if (kept !== undefined) return { key, value: kept };
      if (isSecretHeader(key)) assertNoMask(`headers.${i}.value`, value);
      return this.sealing.sealHeaders(stored.id, [{ key, value }])[0];
    });
  }

  private isStoredUrl(stored: WebhookRow, url: string): boolean {
    try {
      return isShownAs(this.sealing.openUrl(stored.id, stored.urlSealed), url);
    } catch {
      return false;
    }
  }

  private async assertUrl(url: string): Promise<void> {
    // An answer that was edited and sent back: what the mask hides is not known, and stars are no secret.
    if (carriesMask(url)) throw new InvalidWebhookUrl(['it holds a mask in place of a secret']);
    try {
      await this.outbound.assertAllowed(url);
    } catch (error) {
      if (error instanceof UnsafeAddress) throw new InvalidWebhookUrl(error.reasons);
      throw error;
    }
  }
}

function assertEvents(events: readonly string[]): void {
  const unknown = unsupportedEvents(events);
  if (unknown.length > 0) throw new UnsupportedEventType(unknown);
}

function assertHeaders(headers: readonly WebhookHeader[]): void {
  const fieldErrors = headerErrors(headers);
  if (Object.keys(fieldErrors).length > 0) throw new ValidationError(undefined, { fieldErrors });
}

/** A mask that hides nothing is a mistake of the caller, not a value. @throws ValidationError */
export function assertNoMask(path: string, value: string | null | undefined): void {
  if (value === MASK) throw ValidationError.of(path, 'has no stored value to keep');
}

const sealOrNull = (secret: string | null | undefined, seal: (secret: string) => string): string | null =>
  secret === null || secret === undefined ? null : seal(secret);
