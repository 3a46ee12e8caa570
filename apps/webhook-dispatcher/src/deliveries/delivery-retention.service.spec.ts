import type { MaintainPartitionsJob } from '@rmm/persistence';
import type { DispatcherConfig } from '../config.js';
import type { DeliveryRetentionRepository } from './delivery-retention.repository.js';
import { DeliveryRetentionService } from './delivery-retention.service.js';

describe('DeliveryRetentionService', () => {
  it('sets the configured days before it drops partitions', async () => {
    const steps: string[] = [];
    const service = new DeliveryRetentionService(
      { setDays: (days: number) => Promise.resolve(void steps.push(`${days} days`)) } as DeliveryRetentionRepository,
      { run: () => Promise.resolve(void steps.push('maintenance')) } as unknown as MaintainPartitionsJob,
      { deliveryRetentionDays: 14 } as DispatcherConfig,
    );
    await service.apply();
    expect(steps).toEqual(['14 days', 'maintenance']);
  });
});
