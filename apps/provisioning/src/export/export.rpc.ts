import { Controller } from '@nestjs/common';
import {
  PROVISIONING_EXPORT_AUTOMATIONS,
  PROVISIONING_EXPORT_BACKUP_CONFIGURATIONS,
  PROVISIONING_EXPORT_CONFIGURATION_ASSIGNMENTS,
  PROVISIONING_EXPORT_CONFIGURATION_POLICIES,
  PROVISIONING_EXPORT_CUSTOM_FIELD_VALUES,
  PROVISIONING_EXPORT_CUSTOM_FIELDS,
  PROVISIONING_EXPORT_DEVICE_INVENTORY,
  PROVISIONING_EXPORT_DEVICE_RELATIONSHIPS,
  PROVISIONING_EXPORT_DEVICE_SOFTWARE,
  PROVISIONING_EXPORT_DEVICES,
  PROVISIONING_EXPORT_ORGANIZATIONS,
  PROVISIONING_EXPORT_SCRIPTS,
  PROVISIONING_EXPORT_SITES,
  type ExportedAutomation,
  type ExportedBackupConfiguration,
  type ExportedConfigurationAssignment,
  type ExportedConfigurationPolicy,
  type ExportedCustomField,
  type ExportedCustomFieldValue,
  type ExportedDevice,
  type ExportedDeviceInventory,
  type ExportedDeviceRelationships,
  type ExportedDeviceSoftware,
  type ExportedOrganization,
  type ExportedScript,
  type ExportedSite,
  type ExportReply,
  type ExportRequest,
} from '@rmm/contracts';
import { RpcHandler } from '@rmm/messaging';
import { ExportService } from './export.service.js';

/** Serves the partner API of partner-gateway. */
@Controller()
export class ExportRpc {
  constructor(private readonly exports: ExportService) {}

  @RpcHandler(PROVISIONING_EXPORT_ORGANIZATIONS)
  listOrganizations(request: ExportRequest): Promise<ExportReply<ExportedOrganization>> {
    return this.exports.listOrganizations(request);
  }

  @RpcHandler(PROVISIONING_EXPORT_SITES)
  listSites(request: ExportRequest): Promise<ExportReply<ExportedSite>> {
    return this.exports.listSites(request);
  }

  @RpcHandler(PROVISIONING_EXPORT_DEVICES)
  listDevices(request: ExportRequest): Promise<ExportReply<ExportedDevice>> {
    return this.exports.listDevices(request);
  }

  @RpcHandler(PROVISIONING_EXPORT_DEVICE_INVENTORY)
  listDeviceInventory(request: ExportRequest): Promise<ExportReply<ExportedDeviceInventory>> {
    return this.exports.listDeviceInventory(request);
  }

  @RpcHandler(PROVISIONING_EXPORT_DEVICE_SOFTWARE)
  listDeviceSoftware(request: ExportRequest): Promise<ExportReply<ExportedDeviceSoftware>> {
    return this.exports.listDeviceSoftware(request);
  }

  @RpcHandler(PROVISIONING_EXPORT_DEVICE_RELATIONSHIPS)
  listDeviceRelationships(request: ExportRequest): Promise<ExportReply<ExportedDeviceRelationships>> {
    return this.exports.listDeviceRelationships(request);
  }

  @RpcHandler(PROVISIONING_EXPORT_CONFIGURATION_POLICIES)
  listConfigurationPolicies(request: ExportRequest): Promise<ExportReply<ExportedConfigurationPolicy>> {
    return this.exports.listConfigurationPolicies(request);
  }

  @RpcHandler(PROVISIONING_EXPORT_CONFIGURATION_ASSIGNMENTS)
  listConfigurationAssignments(request: ExportRequest): Promise<ExportReply<ExportedConfigurationAssignment>> {
    return this.exports.listConfigurationAssignments(request);
  }

  @RpcHandler(PROVISIONING_EXPORT_AUTOMATIONS)
  listAutomations(request: ExportRequest): Promise<ExportReply<ExportedAutomation>> {
    return this.exports.listAutomations(request);
  }

  @RpcHandler(PROVISIONING_EXPORT_SCRIPTS)
  listScripts(request: ExportRequest): Promise<ExportReply<ExportedScript>> {
    return this.exports.listScripts(request);
  }

  @RpcHandler(PROVISIONING_EXPORT_BACKUP_CONFIGURATIONS)
  listBackupConfigurations(request: ExportRequest): Promise<ExportReply<ExportedBackupConfiguration>> {
    return this.exports.listBackupConfigurations(request);
  }

  @RpcHandler(PROVISIONING_EXPORT_CUSTOM_FIELDS)
  listCustomFields(request: ExportRequest): Promise<ExportReply<ExportedCustomField>> {
    return this.exports.listCustomFields(request);
  }

  @RpcHandler(PROVISIONING_EXPORT_CUSTOM_FIELD_VALUES)
  listCustomFieldValues(request: ExportRequest): Promise<ExportReply<ExportedCustomFieldValue>> {
    return this.exports.listCustomFieldValues(request);
  }
}
