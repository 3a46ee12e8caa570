import { Injectable } from '@nestjs/common';
import { IDENTITY_MAIL_SEND } from '@rmm/contracts';
import { RpcClient } from '@rmm/messaging';
import { Job, Logger } from '@rmm/service-kit';
import { PsaSyncsRepository, type DisabledSync } from './psa-syncs.repository.js';

const MAILS_PER_RUN = 100;

/** Mails the administrators of a partner when the sync of a PSA disabled itself, since its audit entry is easily missed. */
@Injectable()
export class MailDisabledSyncsJob {
  constructor(
    private readonly syncs: PsaSyncsRepository,
    private readonly rpc: RpcClient,
    private readonly logger: Logger,
  ) {}

  @Job({ name: 'mail-disabled-psa-syncs', everyMs: 30_000 })
  async run(): Promise<void> {
    for (const sync of await this.syncs.listUnmailed(MAILS_PER_RUN)) await this.send(sync);
  }

  /** Identity sends a mail once per idempotency key, so a repeated request does no harm. */
  private async send(sync: DisabledSync): Promise<void> {
    const { connectionId, partnerId, name, provider, lastRunAt } = sync;
    try {
      await this.rpc.call(IDENTITY_MAIL_SEND, {
        idempotencyKey: `psa-sync-disabled:${connectionId}:${lastRunAt.toISOString()}`,
        to: [],
        audience: { partnerId, orgId: null, permission: 'organizations:write' },
        template: 'psa-sync-disabled',
        values: { connectionName: name, provider },
      });
      await this.syncs.markMailed(sync);
    } catch (err) {
      this.logger.warn({ err, connectionId, partnerId }, 'the mail about a disabled PSA sync failed; it is sent later');
    }
  }
}
