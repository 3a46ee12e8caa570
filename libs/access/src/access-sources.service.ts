import type { ModuleRef } from '@nestjs/core';
import { CREDENTIALS_KEYS_RESOLVE, IDENTITY_ACCESS_RESOLVE, PROVISIONING_ORGANIZATIONS_GET } from '@rmm/contracts';
import type { RpcClient } from '@rmm/messaging';
import {
  ACCESS_SOURCE,
  type AccessSource,
  AGENT_SOURCE,
  type AgentSource,
  KEY_SOURCE,
  type KeySource,
  ORGANIZATION_SOURCE,
  type OrganizationSource,
  VERIFICATION_KEYS,
  type VerificationKeys,
} from './access.tokens.js';

/**
 * Where this service learns who is who: from itself where it provides a source, else from the owner by RPC.
 * Looked up when first needed, since a provider may stand in any module of the application.
 */
export class Sources {
  private readonly found = new Map<symbol, unknown>();

  constructor(
    private readonly modules: Pick<ModuleRef, 'get'>,
    private readonly rpc: Pick<RpcClient, 'call'>,
  ) {}

  readonly access = (): AccessSource =>
    this.own<AccessSource>(ACCESS_SOURCE) ?? {
      resolve: (request) => this.rpc.call(IDENTITY_ACCESS_RESOLVE, request),
    };

  readonly keys = (): KeySource =>
    this.own<KeySource>(KEY_SOURCE) ?? {
      resolve: (keyHash) => this.rpc.call(CREDENTIALS_KEYS_RESOLVE, { keyHash: keyHash.toString('hex') }),
    };

  readonly organizations = (): OrganizationSource =>
    this.own<OrganizationSource>(ORGANIZATION_SOURCE) ?? {
      get: async (orgIds) =>
        (await this.rpc.call(PROVISIONING_ORGANIZATIONS_GET, { orgIds: [...orgIds] })).organizations,
    };

  /** @throws Error  when the application has none; start-up refuses `@AgentToken()` routes without one */
  readonly agents = (): AgentSource => {
    const source = this.own<AgentSource>(AGENT_SOURCE);
    if (!source) throw new Error('No AGENT_SOURCE is provided');
    return source;
  };

  verificationKeys(): VerificationKeys | undefined {
    return this.own<VerificationKeys>(VERIFICATION_KEYS);
  }

  hasAgents(): boolean {
    return this.own(AGENT_SOURCE) !== undefined;
  }

  /** What the application itself provides under a token. */
  private own<T>(token: symbol): T | undefined {
    if (!this.found.has(token)) this.found.set(token, this.lookUp(token));
    return this.found.get(token) as T | undefined;
  }

  private lookUp(token: symbol): unknown {
    try {
      return this.modules.get(token, { strict: false });
    } catch {
      return undefined;
    }
  }
}
