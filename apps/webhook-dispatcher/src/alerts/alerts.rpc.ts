import { Controller } from '@nestjs/common';
import { WEBHOOK_DISPATCHER_MCP_LIST_ALERTS, type McpAlertsPage, type McpListAlertsRequest } from '@rmm/contracts';
import { RpcHandler } from '@rmm/messaging';
import { AlertsService } from './alerts.service.js';

/** Serves the MCP endpoint of partner-gateway, whose login may not read the events of the fleet. */
@Controller()
export class AlertsRpc {
  constructor(private readonly alerts: AlertsService) {}

  @RpcHandler(WEBHOOK_DISPATCHER_MCP_LIST_ALERTS)
  list(request: McpListAlertsRequest): Promise<McpAlertsPage> {
    return this.alerts.list(request);
  }
}
