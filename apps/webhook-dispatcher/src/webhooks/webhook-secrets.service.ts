import { Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { AuditTrail, Outbox } from '@rmm/messaging';
import { TenantDatabase } from '@rmm/persistence';
import { mintWebhookSecret } from '@rmm/secrets';
import { Clock } from '@rmm/service-kit';
import { type RotatedSecretDto, type RotateSecretDto, STORE_SECRET_WARNING } from './dto/rotate-secret.dto.js';
import { WebhookSealingService } from './webhook-sealing.service.js';
import { assertNoMask } from './webhook-settings.service.js';
import { NO_OVERLAP, type SecretOverlap, type Webhook, type WebhookScope } from './webhook.entity.js';
import { webhookChanged, webhookResource } from './webhook.mapper.js';
import { WebhooksRepository } from './webhooks.repository.js';

const DEFAULT_OVERLAP_SECONDS = 86_400;

@Injectable()
export class WebhookSecretsService {
  constructor(
    private readonly tenants: TenantDatabase,
    private readonly repository: WebhooksRepository,
    private readonly sealing: WebhookSealingService,
    private readonly outbox: Outbox,
    private readonly audit: AuditTrail,
    private readonly clock: Clock,
  ) {}

  /**
   * Replaces the signing secret. The previous one signs as well during the overlap; rotating again ends the overlap of
   * the rotation before, since a webhook has one previous secret at most.
   * @throws WebhookNotFound, ValidationError
   */
  async rotate(
    caller: UserCaller,
    id: string,
    dto: RotateSecretDto,
    scope: WebhookScope = 'organization',
  ): Promise<RotatedSecretDto> {
    const { secret: given, overlapSeconds = DEFAULT_OVERLAP_SECONDS } = dto;
    assertNoMask('secret', given);
    const secret = given ?? mintWebhookSecret();
    return this.tenants.transaction(caller, async (tx) => {
      const stored = await this.repository.lock(tx, id, scope);
      const overlap = this.startOverlap(stored, overlapSeconds);
      const secretSealed = this.sealing.sealSecret(id, secret);
      const row = await this.repository.change(tx, stored, { ...overlap, secretSealed });
      const secretOverlapUntil = overlap.secretOverlapUntil?.toISOString() ?? null;
      const details = { isGenerated: given === undefined, secretOverlapUntil };
      await this.audit.record(tx, caller, 'webhook.secret.rotate', webhookResource(row), details);
      await this.outbox.publish(tx, webhookChanged(row));
      const generated = given === undefined ? { secret, warning: STORE_SECRET_WARNING } : {};
      return { id, hasSecret: true, secretOverlapUntil, ...generated };
    });
  }

  private startOverlap({ secretSealed }: Webhook, overlapSeconds: number): SecretOverlap {
    if (secretSealed === null || overlapSeconds === 0) return NO_OVERLAP;
    const secretOverlapUntil = new Date(this.clock.nowMs() + overlapSeconds * 1_000);
    return { previousSecretSealed: secretSealed, secretOverlapUntil };
  }
}
