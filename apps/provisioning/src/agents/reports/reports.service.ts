import { Injectable } from '@nestjs/common';
import type { AgentCaller } from '@rmm/access';
import { TenantDatabase } from '@rmm/persistence';
import { type DoneDto, NotFoundError } from '@rmm/service-kit';
import { readInventory, type InventoryKind } from './inventory-report.js';
import { readPosture } from './posture-report.js';
import { ReportsRepository } from './reports.repository.js';

/** Stores the inventory and the posture that agents report. @see docs/reference/provisioning.md#agents */
@Injectable()
export class ReportsService {
  constructor(
    private readonly tenants: TenantDatabase,
    private readonly reports: ReportsRepository,
  ) {}

  /**
   * Replaces the inventory of one kind; an equal one writes nothing.
   * @throws NotFoundError  for the id of another agent; UnauthenticatedError  for a decommissioned device; ValidationError
   */
  async storeInventory(caller: AgentCaller, agentId: string, kind: InventoryKind, body: unknown): Promise<DoneDto> {
    assertOwn(caller, agentId);
    const report = readInventory(kind, body);
    if (!(await this.reports.isStored(caller, report))) {
      await this.tenants.transaction(caller, (tx) => this.reports.storeInventory(tx, caller, report));
    }
    return { success: true };
  }

  /**
   * Replaces the latest scan of the device.
   * @throws NotFoundError  for the id of another agent; UnauthenticatedError  for a decommissioned device; ValidationError
   */
  async storePosture(caller: AgentCaller, agentId: string, body: unknown): Promise<DoneDto> {
    assertOwn(caller, agentId);
    const report = readPosture(body);
    await this.tenants.transaction(caller, (tx) => this.reports.storePosture(tx, caller, report));
    return { success: true };
  }
}

/** @throws NotFoundError */
function assertOwn(caller: AgentCaller, agentId: string): void {
  if (agentId !== caller.agentId) throw new NotFoundError('Agent');
}
