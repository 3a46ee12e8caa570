import { Injectable } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import {
  CREDENTIALS_KEYS_RESOLVE,
  IDENTITY_ACCESS_RESOLVE,
  PROVISIONING_ORGANIZATIONS_GET,
  PROVISIONING_ORGANIZATIONS_LIST_SINCE,
} from '@rmm/contracts';
import { RpcClient } from '@rmm/messaging';
import {
  ACCESS_SOURCE,
  type AccessSource,
  AGENT_SOURCE,
  type AgentSource,
  KEY_SOURCE,
  type KeySource,
  ORGANIZATION_SOURCE,
  type OrganizationSource,
  SCIM_TOKEN_SOURCE,
  type ScimTokenSource,
  TENANT_LISTENER,
  type TenantListener,
  VERIFICATION_KEYS,
  type VerificationKeys,
} from './access.tokens.js';

/**
 * Finds the source of each kind of record: the one that the application provides, else an RPC to the owning service.
 * Providers are looked up on first use, because any module of the application may contain them.
 */
@Injectable()
export class AccessSources {
  private readonly found = new Map<symbol, unknown>();

  constructor(
    private readonly modules: ModuleRef,
    private readonly rpc: RpcClient,
  ) {}

  get access(): AccessSource {
    return (
      this.find<AccessSource>(ACCESS_SOURCE) ?? {
        resolve: (request) => this.rpc.call(IDENTITY_ACCESS_RESOLVE, request),
      }
    );
  }

  get keys(): KeySource {
    return (
      this.find<KeySource>(KEY_SOURCE) ?? {
        resolve: (keyHash) => this.rpc.call(CREDENTIALS_KEYS_RESOLVE, { keyHash: keyHash.toString('hex') }),
      }
    );
  }

  get organizations(): OrganizationSource {
    return (
      this.find<OrganizationSource>(ORGANIZATION_SOURCE) ?? {
        get: async (orgIds) =>
          (await this.rpc.call(PROVISIONING_ORGANIZATIONS_GET, { orgIds: [...orgIds] })).organizations,
        listSince: (request) => this.rpc.call(PROVISIONING_ORGANIZATIONS_LIST_SINCE, request),
      }
    );
  }

  /** Undefined where the application provides none; then it cannot have `@AgentToken()` routes. */
  get agents(): AgentSource | undefined {
    return this.find<AgentSource>(AGENT_SOURCE);
  }

  /** Undefined where the application provides none; then it cannot have `@ScimToken()` routes. */
  get scimTokens(): ScimTokenSource | undefined {
    return this.find<ScimTokenSource>(SCIM_TOKEN_SOURCE);
  }

  /** Undefined where the application provides none; then the JWKS is read. */
  get verificationKeys(): VerificationKeys | undefined {
    return this.find<VerificationKeys>(VERIFICATION_KEYS);
  }

  /** Undefined where nothing depends on changes of tenants. */
  get tenantListener(): TenantListener | undefined {
    return this.find<TenantListener>(TENANT_LISTENER);
  }

  private find<T>(token: symbol): T | undefined {
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
