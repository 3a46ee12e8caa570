import { Controller } from '@nestjs/common';
import {
  PROVISIONING_MCP_GET_DEVICE,
  PROVISIONING_MCP_GET_SCRIPT,
  PROVISIONING_MCP_LIST_AUTOMATIONS,
  PROVISIONING_MCP_LIST_DEVICES,
  PROVISIONING_MCP_LIST_SCRIPTS,
  PROVISIONING_MCP_LIST_SITES,
  PROVISIONING_MCP_POSTURE_SUMMARY,
  PROVISIONING_MCP_SET_CUSTOM_FIELDS,
  PROVISIONING_MCP_SET_TAGS,
  type McpAutomation,
  type McpDevice,
  type McpDeviceSummary,
  type McpGetDeviceRequest,
  type McpGetScriptRequest,
  type McpListAutomationsRequest,
  type McpListDevicesRequest,
  type McpListScriptsRequest,
  type McpListSitesRequest,
  type McpPage,
  type McpPostureSummary,
  type McpPostureSummaryRequest,
  type McpScript,
  type McpScriptSummary,
  type McpSetCustomFieldsRequest,
  type McpSetTagsRequest,
  type McpSite,
} from '@rmm/contracts';
import { RpcHandler } from '@rmm/messaging';
import { McpDataService } from './mcp-data.service.js';

/** Serves the MCP endpoint of partner-gateway. */
@Controller()
export class McpDataRpc {
  constructor(private readonly data: McpDataService) {}

  @RpcHandler(PROVISIONING_MCP_LIST_DEVICES)
  listDevices(request: McpListDevicesRequest): Promise<McpPage<McpDeviceSummary>> {
    return this.data.listDevices(request);
  }

  @RpcHandler(PROVISIONING_MCP_GET_DEVICE)
  getDevice(request: McpGetDeviceRequest): Promise<McpDevice> {
    return this.data.getDevice(request);
  }

  @RpcHandler(PROVISIONING_MCP_LIST_SITES)
  listSites(request: McpListSitesRequest): Promise<McpPage<McpSite>> {
    return this.data.listSites(request);
  }

  @RpcHandler(PROVISIONING_MCP_LIST_SCRIPTS)
  listScripts(request: McpListScriptsRequest): Promise<McpPage<McpScriptSummary>> {
    return this.data.listScripts(request);
  }

  @RpcHandler(PROVISIONING_MCP_GET_SCRIPT)
  getScript(request: McpGetScriptRequest): Promise<McpScript> {
    return this.data.getScript(request);
  }

  @RpcHandler(PROVISIONING_MCP_LIST_AUTOMATIONS)
  listAutomations(request: McpListAutomationsRequest): Promise<McpPage<McpAutomation>> {
    return this.data.listAutomations(request);
  }

  @RpcHandler(PROVISIONING_MCP_POSTURE_SUMMARY)
  summarizePosture(request: McpPostureSummaryRequest): Promise<McpPostureSummary> {
    return this.data.summarizePosture(request);
  }

  @RpcHandler(PROVISIONING_MCP_SET_CUSTOM_FIELDS)
  setCustomFields(request: McpSetCustomFieldsRequest): Promise<{ customFields: Record<string, unknown> }> {
    return this.data.setCustomFields(request);
  }

  @RpcHandler(PROVISIONING_MCP_SET_TAGS)
  setTags(request: McpSetTagsRequest): Promise<{ tags: string[] }> {
    return this.data.setTags(request);
  }
}
