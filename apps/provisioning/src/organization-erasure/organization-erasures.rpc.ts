import { Controller } from '@nestjs/common';
import { PROVISIONING_ERASURES_REPORT, type ErasureReport, type RpcReply } from '@rmm/contracts';
import { RpcHandler } from '@rmm/messaging';
import { ErasureReportsService } from './erasure-reports.service.js';

@Controller()
export class OrganizationErasuresRpc {
  constructor(private readonly reports: ErasureReportsService) {}

  @RpcHandler(PROVISIONING_ERASURES_REPORT)
  report(report: ErasureReport): Promise<RpcReply<typeof PROVISIONING_ERASURES_REPORT>> {
    return this.reports.receive(report);
  }
}
