import { Injectable } from '@nestjs/common';
import { KeyRing, UnsealFailed } from '@rmm/secrets';
import type { SealedTexts } from './sealed-webhooks.repository.js';
import type { WebhookHeader } from './webhook-headers.policy.js';

type SealedPart = 'url' | 'secret' | 'header';

const contextOf = (part: SealedPart, webhookId: string): string => `webhook.${part}:${webhookId}`;

/** Seals and opens the secret columns of webhooks; a sealed text opens only for the webhook it was sealed for. */
@Injectable()
export class WebhookSealingService {
  constructor(private readonly keyRing: KeyRing) {}

  /** The id of the key that seals. */
  get activeKid(): string {
    return this.keyRing.activeKid;
  }

  sealUrl(webhookId: string, url: string): string {
    return this.keyRing.seal(url, contextOf('url', webhookId));
  }

  /** @throws UnsealFailed, as the other `open` methods */
  openUrl(webhookId: string, sealed: string): string {
    return this.keyRing.open(sealed, contextOf('url', webhookId));
  }

  sealSecret(webhookId: string, secret: string): string {
    return this.keyRing.seal(secret, contextOf('secret', webhookId));
  }

  openSecret(webhookId: string, sealed: string): string {
    return this.keyRing.open(sealed, contextOf('secret', webhookId));
  }

  /** Seals the values; names stay readable. */
  sealHeaders(webhookId: string, headers: readonly WebhookHeader[]): WebhookHeader[] {
    const context = contextOf('header', webhookId);
    return headers.map(({ key, value }) => ({ key, value: this.keyRing.seal(value, context) }));
  }

  openHeaders(webhookId: string, sealed: readonly WebhookHeader[]): WebhookHeader[] {
    const context = contextOf('header', webhookId);
    return sealed.map(({ key, value }) => ({ key, value: this.keyRing.open(value, context) }));
  }

  /** Returns the texts sealed with the active key, without those that no key opens: they stay as they are. */
  reseal(texts: SealedTexts): SealedTexts & { isComplete: boolean } {
    const { webhookId } = texts;
    let isComplete = true;
    const reseal = <Text extends string | null>(part: SealedPart, sealed: Text): Text | string => {
      if (sealed === null || this.keyRing.isCurrent(sealed)) return sealed;
      const context = contextOf(part, webhookId);
      try {
        return this.keyRing.seal(this.keyRing.open(sealed, context), context);
      } catch (error) {
        if (!(error instanceof UnsealFailed)) throw error;
        isComplete = false;
        return sealed;
      }
    };
    const resealed = {
      ...texts,
      urlSealed: reseal('url', texts.urlSealed),
      secretSealed: reseal('secret', texts.secretSealed),
      previousSecretSealed: reseal('secret', texts.previousSecretSealed),
      headers: texts.headers.map(({ key, value }) => ({ key, value: reseal('header', value) })),
    };
    return { ...resealed, isComplete };
  }
}
