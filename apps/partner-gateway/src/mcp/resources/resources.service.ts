import { Injectable } from '@nestjs/common';
import { type ApiKeyCaller, isSiteRestricted } from '@rmm/access';
import {
  API_KEY_SCOPES,
  hasPermission,
  type Permission,
  permissionsForScopes,
  type ScopeCatalog,
} from '@rmm/permissions';
import { McpDataService } from '../data/mcp-data.service.js';
import { RPC_CODES } from '../json-rpc.mapper.js';
import { RpcMethodFailed } from '../mcp.errors.js';
import { toMethodFailure } from '../method-failure.mapper.js';
import { DEVICE_TEMPLATE, deviceIdOf, type Resource, RESOURCES } from './resource-catalog.js';

/** Lists and reads resources. @see docs/reference/mcp.md */
@Injectable()
export class ResourcesService {
  constructor(private readonly data: McpDataService) {}

  list(caller: ApiKeyCaller): object[] {
    return RESOURCES.filter((resource) => isVisible(caller, resource)).map(({ description }) => description);
  }

  listTemplates(caller: ApiKeyCaller): object[] {
    return isPermitted(caller, DEVICE_TEMPLATE.permission) ? [DEVICE_TEMPLATE.description] : [];
  }

  /**
   * Reads a resource.
   * @throws RpcMethodFailed  -32602 for a URI of no resource, and of one that the key may not read; UnavailableError
   */
  async read(caller: ApiKeyCaller, { uri }: Record<string, unknown>): Promise<object> {
    try {
      const value = await this.find(caller, typeof uri === 'string' ? uri : '');
      return { contents: [{ uri, mimeType: 'application/json', text: JSON.stringify(value) }] };
    } catch (error) {
      throw toMethodFailure(error);
    }
  }

  private find(caller: ApiKeyCaller, uri: string): Promise<object> {
    const resource = RESOURCES.find(({ description }) => description.uri === uri);
    if (resource !== undefined && isVisible(caller, resource)) return resource.read(this.data, caller);
    const deviceId = deviceIdOf(uri);
    if (deviceId !== null && isPermitted(caller, DEVICE_TEMPLATE.permission)) {
      return this.data.getDevice(caller, deviceId);
    }
    const data = { code: 'unknown_resource', uri };
    throw new RpcMethodFailed(RPC_CODES.invalidParameters, 'Unknown resource', { data });
  }
}

const isVisible = (caller: ApiKeyCaller, { permission, isOrganizationWide }: Resource): boolean =>
  isPermitted(caller, permission) && !(isOrganizationWide && isSiteRestricted(caller));

const isPermitted = ({ scopes }: ApiKeyCaller, permission: Permission): boolean =>
  hasPermission(permissionsForScopes(knownScopes(scopes), API_KEY_SCOPES), permission);

/** Leaves out scopes of no catalog, which require everything and would imply it here. */
const knownScopes = (scopes: readonly string[]): string[] =>
  scopes.filter((scope) => Object.hasOwn(API_KEY_SCOPES as ScopeCatalog, scope));
