import { Injectable } from '@nestjs/common';
import { KeyRing } from '@rmm/secrets';
import type { WebhookHeader } from './webhook-headers.policy.js';

/** Seals and opens the secret columns of webhooks; a sealed text opens only for the webhook it was sealed for. */
@Injectable()
export class WebhookSealingService {
  constructor(private readonly keyRing: KeyRing) {}

  sealUrl(webhookId: string, url: string): string {
    return this.keyRing.seal(url, `webhook.url:${webhookId}`);
  }

  /** @throws UnsealFailed, as the other `open` methods */
  openUrl(webhookId: string, sealed: string): string {
    return this.keyRing.open(sealed, `webhook.url:${webhookId}`);
  }

  sealSecret(webhookId: string, secret: string): string {
    return this.keyRing.seal(secret, `webhook.secret:${webhookId}`);
  }

  openSecret(webhookId: string, sealed: string): string {
    return this.keyRing.open(sealed, `webhook.secret:${webhookId}`);
  }

  /** Seals the values; names stay readable. */
  sealHeaders(webhookId: string, headers: readonly WebhookHeader[]): WebhookHeader[] {
    return headers.map(({ key, value }) => ({ key, value: this.keyRing.seal(value, `webhook.header:${webhookId}`) }));
  }

  openHeaders(webhookId: string, sealed: readonly WebhookHeader[]): WebhookHeader[] {
    return sealed.map(({ key, value }) => ({ key, value: this.keyRing.open(value, `webhook.header:${webhookId}`) }));
  }
}
