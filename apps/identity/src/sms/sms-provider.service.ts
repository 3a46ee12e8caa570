import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Outbound } from '@rmm/outbound';
import { Clock, Logger, UpstreamError } from '@rmm/service-kit';
import { canSendSms, IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import { SmsNotConfigured } from '../mfa/mfa.errors.js';

const TIMEOUT_MS = 8_000;
const MAX_RESPONSE_BYTES = 16_384;

/**
 * Sends text messages: by the HTTP endpoint of `SMS_PROVIDER_URL`, or in development to the mailbox folder.
 * @see docs/reference/configuration.md
 */
@Injectable()
export class SmsProvider implements OnApplicationShutdown {
  private readonly outbound: Outbound;

  constructor(
    private readonly clock: Clock,
    private readonly logger: Logger,
    @Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig,
  ) {
    this.outbound = new Outbound({
      isHosted: config.isHosted,
      extraAllowedCidrs: config.outboundExtraAllowedCidrs.map(({ text }) => text),
      blockedCidrs: config.outboundBlockedCidrs.map(({ text }) => text),
      ownUrl: config.publicApiUrl,
    });
  }

  /** @throws SmsNotConfigured */
  assertConfigured(): void {
    if (!canSendSms(this.config.sms)) throw new SmsNotConfigured();
  }

  /** @param to  E.164 @throws SmsNotConfigured; UpstreamError when the provider does not accept the message */
  async send(to: string, text: string): Promise<void> {
    this.assertConfigured();
    const { providerUrl, mailboxDir = '' } = this.config.sms;
    try {
      await (providerUrl === undefined ? this.writeFile(mailboxDir, to, text) : this.post(providerUrl, to, text));
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause);
      this.logger.warn({ reason }, 'text message could not be sent; the user is asked to try again');
      throw new UpstreamError(undefined, { cause });
    }
  }

  async onApplicationShutdown(): Promise<void> {
    await this.outbound.close();
  }

  /** The body of the response is not read into the log: providers repeat number and text in it. */
  private async post(url: string, to: string, text: string): Promise<void> {
    const { providerToken } = this.config.sms;
    const response = await this.outbound.post({
      url,
      headers: {
        'content-type': 'application/json',
        ...(providerToken !== undefined && { authorization: `Bearer ${providerToken}` }),
      },
      body: JSON.stringify({ to, text }),
      timeoutMs: TIMEOUT_MS,
      maxResponseBytes: MAX_RESPONSE_BYTES,
    });
    if (response.status < 200 || response.status > 299) throw new Error(`the provider responded ${response.status}`);
  }

  /** Writes a temporary file and renames it, so that readers never see a partial file. */
  private async writeFile(folder: string, to: string, text: string): Promise<void> {
    const id = randomUUID();
    const sentAt = this.clock.now().toISOString();
    const file = join(folder, `${sentAt}-${id}.json`);
    await mkdir(folder, { recursive: true });
    await writeFile(`${file}.part`, JSON.stringify({ id, channel: 'sms', to, text, sentAt }, null, 2));
    await rename(`${file}.part`, file);
  }
}
