import { Injectable } from '@nestjs/common';
import { isSiteRestricted, type UserCaller } from '@rmm/access';
import type { KeyUsageRequest, KeyUse } from '@rmm/contracts';
import { WorkerDatabase } from '@rmm/persistence';
import { Clock } from '@rmm/service-kit';
import { ApiKeysRepository } from '../api-keys/api-keys.repository.js';
import { KeyCreatorPolicy } from '../api-keys/key-creator.policy.js';
import { SiteRestricted } from '../service-principals/service-principal.errors.js';
import type { ApiKeyUsageDto } from './dto/api-key-usage.dto.js';
import { USAGE_DAYS, type UsageQueryDto } from './dto/usage-query.dto.js';
import { KeyUsageRepository } from './key-usage.repository.js';

const DAY_MS = 86_400_000;

@Injectable()
export class KeyUsageService {
  constructor(
    private readonly repository: KeyUsageRepository,
    private readonly apiKeys: ApiKeysRepository,
    private readonly creators: KeyCreatorPolicy,
    private readonly worker: WorkerDatabase,
    private readonly clock: Clock,
  ) {}

  /**
   * Returns the uses of an API key on each day, days without use included.
   * @throws ApiKeyNotFound 404; SiteRestricted, SiteAccessDenied 403
   */
  async getDaily(caller: UserCaller, id: string, { days = USAGE_DAYS }: UsageQueryDto): Promise<ApiKeyUsageDto> {
    const key = await this.apiKeys.get(caller, id);
    if (key.principalId !== null && isSiteRestricted(caller)) throw new SiteRestricted();
    await this.creators.assertWithinSites(caller, key);
    const today = this.clock.nowMs();
    const dates = Array.from({ length: days }, (_, index) => toDay(today - (days - 1 - index) * DAY_MS));
    const [from = '', to = ''] = [dates.at(0), dates.at(-1)];
    const used = await this.repository.listDays(caller, id, from);
    const counts = new Map(used.map(({ day, count }) => [day, Number(count)]));
    const series = dates.map((date) => ({ date, count: counts.get(date) ?? 0 }));
    return { from, to, total: series.reduce((sum, { count }) => sum + count, 0), days: series };
  }

  /** Counts a batch of uses; a batch that was counted before is ignored. @returns how many keys were updated */
  record({ batchId, uses }: KeyUsageRequest): Promise<number> {
    const [apiKeys, partnerKeys] = [usesOf('api_key', uses), usesOf('partner_key', uses)];
    return this.worker.transaction(async (tx) => {
      if (!(await this.repository.addBatch(tx, batchId))) return 0;
      let updated = 0;
      if (apiKeys.length > 0) {
        updated += await this.repository.addUses(tx, 'api_key', apiKeys);
        await this.repository.addDays(tx, apiKeys);
      }
      if (partnerKeys.length > 0) updated += await this.repository.addUses(tx, 'partner_key', partnerKeys);
      return updated;
    });
  }
}

function toDay(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

function usesOf(kind: KeyUse['kind'], uses: readonly KeyUse[]): KeyUse[] {
  return uses.filter((use) => use.kind === kind).sort((a, b) => (a.keyId < b.keyId ? -1 : 1));
}
