import { Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { Clock } from '@rmm/service-kit';
import { ApiKeysRepository } from './api-keys.repository.js';
import type { ApiKeyUsageDto } from './dto/api-key-usage.dto.js';
import { USAGE_DAYS, type UsageQueryDto } from './dto/usage-query.dto.js';

const DAY_MS = 86_400_000;

/** How often a key was used, day by day. */
@Injectable()
export class ApiKeyUsageService {
  constructor(
    private readonly repository: ApiKeysRepository,
    private readonly clock: Clock,
  ) {}

  /** @throws NotFoundError */
  async of(caller: UserCaller, id: string, { days = USAGE_DAYS }: UsageQueryDto): Promise<ApiKeyUsageDto> {
    await this.repository.get(caller, id);
    const today = this.clock.nowMs();
    const dates = Array.from({ length: days }, (_, index) => dayOf(today - (days - 1 - index) * DAY_MS));
    const [from = '', to = ''] = [dates.at(0), dates.at(-1)];
    const counts = new Map(
      (await this.repository.usage(caller, id, from)).map(({ day, count }) => [day, Number(count)]),
    );
    const series = dates.map((date) => ({ date, count: counts.get(date) ?? 0 }));
    return { from, to, total: series.reduce((sum, { count }) => sum + count, 0), days: series };
  }
}

const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10);
