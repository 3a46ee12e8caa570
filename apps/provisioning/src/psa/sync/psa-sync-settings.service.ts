import { Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { AuditTrail } from '@rmm/messaging';
import { TenantDatabase } from '@rmm/persistence';
import { Clock } from '@rmm/service-kit';
import { psaResource } from '../psa-connection.mapper.js';
import { PsaConnectionsRepository } from '../psa-connections.repository.js';
import { assertCanList } from '../psa-listing.service.js';
import type { PsaSyncDto, UpdatePsaSyncDto } from './dto/psa-sync.dto.js';
import { PsaSyncDisabled } from './psa-sync.errors.js';
import { DEFAULT_SYNC, toPsaSyncDto } from './psa-sync.mapper.js';
import { PsaSyncsRepository } from './psa-syncs.repository.js';

/** Configures the scheduled syncs of connections. @see docs/reference/provisioning.md#scheduled-sync */
@Injectable()
export class PsaSyncSettingsService {
  constructor(
    private readonly tenants: TenantDatabase,
    private readonly connections: PsaConnectionsRepository,
    private readonly syncs: PsaSyncsRepository,
    private readonly audit: AuditTrail,
    private readonly clock: Clock,
  ) {}

  /** @throws NotFoundError */
  async get(caller: UserCaller, connectionId: string): Promise<PsaSyncDto> {
    await this.connections.get(caller, connectionId);
    return toPsaSyncDto(await this.syncs.find(caller, connectionId), this.clock.nowMs());
  }

  /** Stores the settings and forgets failures. @throws NotFoundError, PsaListingUnsupported */
  update(caller: UserCaller, connectionId: string, dto: UpdatePsaSyncDto): Promise<PsaSyncDto> {
    return this.tenants.transaction(caller, async (tx) => {
      const connection = await this.connections.lock(tx, connectionId);
      assertCanList(connection);
      const before = await this.syncs.find(tx, connectionId);
      const { enabled } = dto;
      const rule = dto.rule ?? before?.rule ?? DEFAULT_SYNC.rule;
      const intervalMinutes = dto.intervalMinutes ?? before?.intervalMinutes ?? DEFAULT_SYNC.intervalMinutes;
      const { partnerId } = connection;
      const settings = { connectionId, partnerId, enabled, rule, intervalMinutes, configuredBy: caller.userId };
      const row = await this.syncs.save(tx, settings);
      const details = { enabled, rule, intervalMinutes };
      await this.audit.record(tx, caller, 'psa.sync.update', psaResource(connection), details);
      return toPsaSyncDto(row, this.clock.nowMs());
    });
  }

  /** Makes an enabled sync run at once, in the background. @throws NotFoundError, PsaSyncDisabled */
  async runNow(caller: UserCaller, connectionId: string): Promise<PsaSyncDto> {
    await this.connections.get(caller, connectionId);
    const row = await this.tenants.transaction(caller, (tx) => this.syncs.scheduleNow(tx, connectionId));
    if (row === null) throw new PsaSyncDisabled();
    return toPsaSyncDto(row, this.clock.nowMs());
  }
}
