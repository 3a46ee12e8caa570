import { Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { AuditTrail, Outbox } from '@rmm/messaging';
import { TenantDatabase } from '@rmm/persistence';
import { mintWebhookSecret } from '@rmm/secrets';
import { Clock } from '@rmm/service-kit';
import { webhookChanged } from './webhook-changed.js';
import { assertNoMask } from './webhook-settings.service.js';
import type { WebhookRow } from './webhook-row.js';
import { WebhookSealingService } from './webhook-sealing.service.js';
import { WebhooksRepository } from './webhooks.repository.js';
import { resourceOf } from './webhooks.service.js';
import type { RotateSecretDto } from './dto/rotate-secret.dto.js';
import { type RotatedSecretDto, STORE_IT_NOW } from './dto/rotated-secret.dto.js';
import { NO_OVERLAP, type SecretOverlap } from './secret-overlap.js';

const DEFAULT_OVERLAP_SECONDS = 86_400;

/** A new signing secret, the old one signing beside it for a while, so that a receiver can change over. */
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
   * One previous secret at most: rotating again ends the overlap that is under way.
   * @throws WebhookNotFound, ValidationError
   */
  async rotate(caller: UserCaller, id: string, dto: RotateSecretDto): Promise<RotatedSecretDto> {
    const { secret: given, overlapSeconds = DEFAULT_OVERLAP_SECONDS } = dto;
    assertNoMask('secret', given);
    const secret = given ?? mintWebhookSecret();
    return this.tenants.transaction(caller, async (tx) => {
      const stored = await this.repository.lock(tx, id);
      const overlap = this.overlapOf(stored, overlapSeconds);
      const secretSealed = this.sealing.sealSecret(id, secret);
      const row = await this.repository.update(tx, id, { ...stored, ...overlap, secretSealed });
      const secretOverlapUntil = overlap.secretOverlapUntil?.toISOString() ?? null;
      const details = { isGenerated: given === undefined, secretOverlapUntil };
      await this.audit.record(tx, caller, 'webhook.secret.rotate', resourceOf(row), details);
      await this.outbox.publish(tx, webhookChanged(row));
      const shown = given === undefined ? { secret, warning: STORE_IT_NOW } : {};
      return { id, hasSecret: true, secretOverlapUntil, ...shown };
    });
  }

  private overlapOf({ secretSealed }: WebhookRow, overlapSeconds: number): SecretOverlap {
    if (secretSealed === null || overlapSeconds === 0) return NO_OVERLAP;
    const secretOverlapUntil = new Date(this.clock.nowMs() + overlapSeconds * 1_000);
    return { previousSecretSealed: secretSealed, secretOverlapUntil };
  }
}
