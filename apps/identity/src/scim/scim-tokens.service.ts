import { Inject, Injectable } from '@nestjs/common';
import type { ScimTokenRecord, ScimTokenSource, UserCaller } from '@rmm/access';
import { AuditTrail } from '@rmm/messaging';
import { TenantDatabase } from '@rmm/persistence';
import { mintScimToken } from '@rmm/secrets';
import { Clock, ValidationError } from '@rmm/service-kit';
import { toPage, type PageQueryDto, type Paged } from '@rmm/validation';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import { RoleGrantPolicy } from '../roles/role-grant.policy.js';
import type { SsoProvider } from '../sso/sso-provider.entity.js';
import { SsoProvidersRepository } from '../sso/sso-providers.repository.js';
import { assertMayManage } from '../sso/sso-providers.service.js';
import type { CreatedScimTokenDto, CreateScimTokenDto, ScimTokenDto } from './dto/scim-settings.dto.js';
import { scimBaseUrl } from './scim-resource.mapper.js';
import type { ScimTokenRow } from './scim-token.entity.js';
import { toTokenDto } from './scim-token.mapper.js';
import { ScimTokensRepository } from './scim-tokens.repository.js';
import { ScimForOrganizationsOnly, TooManyScimTokens } from './scim.errors.js';

const MAX_TOKENS = 2;
const DAY_MS = 24 * 60 * 60 * 1_000;
const DEFAULT_DAYS = 365;
const MAX_DAYS = 730;

/** Tokens of SCIM clients: for administrators, and for the guard that authenticates by them. @see docs/reference/scim.md */
@Injectable()
export class ScimTokensService implements ScimTokenSource {
  constructor(
    private readonly tenants: TenantDatabase,
    private readonly tokens: ScimTokensRepository,
    private readonly providers: SsoProvidersRepository,
    private readonly grants: RoleGrantPolicy,
    private readonly audit: AuditTrail,
    private readonly clock: Clock,
    @Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig,
  ) {}

  findByTokenHash(tokenHash: Buffer): Promise<ScimTokenRecord | null> {
    return this.tokens.findByHash(tokenHash);
  }

  /** @throws NotFoundError also for a provider of another tenant */
  async list(caller: UserCaller, providerId: string, query: PageQueryDto): Promise<Paged<ScimTokenDto>> {
    assertForScim(caller, await this.providers.get(caller, providerId));
    const { rows, ...counted } = await this.tokens.list(caller, providerId, query);
    return toPage(query, counted, rows.map(toTokenDto));
  }

  /**
   * Creates a token, which the response alone contains. Two are valid at a time, so that one can replace the other.
   * @throws NotFoundError, ScimForOrganizationsOnly, TooManyScimTokens, ValidationError
   */
  async create(caller: UserCaller, providerId: string, dto: CreateScimTokenDto): Promise<CreatedScimTokenDto> {
    const now = this.clock.nowMs();
    const expiresAt = dto.expiresAt ?? new Date(now + DEFAULT_DAYS * DAY_MS);
    if (expiresAt.getTime() <= now || expiresAt.getTime() > now + MAX_DAYS * DAY_MS) {
      throw ValidationError.forField('expiresAt', `must be within the next ${MAX_DAYS} days`);
    }
    return this.tenants.transaction(caller, async (tx) => {
      const provider = await this.providers.lock(tx, providerId);
      const orgId = assertForScim(caller, provider);
      await this.grants.refreshCaller(tx, caller, 'sso:admin');
      if ((await this.tokens.countValid(tx, providerId)) >= MAX_TOKENS) throw new TooManyScimTokens(MAX_TOKENS);
      const { key, keyPrefix, keyHash } = mintScimToken();
      const { partnerId } = provider;
      const row = await this.tokens.create(tx, {
        ...{ partnerId, orgId, providerId, name: dto.name, expiresAt, createdBy: caller.userId },
        ...{ tokenPrefix: keyPrefix, tokenHash: keyHash },
      });
      const details = { providerId, tokenPrefix: keyPrefix, expiresAt: expiresAt.toISOString() };
      await this.audit.record(tx, caller, 'scim.token.create', auditedToken(row), details);
      return { ...toTokenDto(row), token: key, baseUrl: scimBaseUrl(this.config.publicApiUrl) };
    });
  }

  /** Ends a token at once. @throws NotFoundError */
  async remove(caller: UserCaller, providerId: string, id: string): Promise<void> {
    await this.tenants.transaction(caller, async (tx) => {
      assertForScim(caller, await this.providers.lock(tx, providerId));
      await this.grants.refreshCaller(tx, caller, 'sso:admin');
      const row = await this.tokens.get(tx, providerId, id);
      await this.tokens.remove(tx, id);
      const details = { providerId, tokenPrefix: row.tokenPrefix };
      await this.audit.record(tx, caller, 'scim.token.revoke', auditedToken(row), details);
    });
  }
}

/** @returns the organization of the provider @throws ScimForOrganizationsOnly, SiteAccessDenied */
export function assertForScim(caller: UserCaller, { orgId }: SsoProvider): string {
  assertMayManage(caller, orgId);
  if (orgId === null) throw new ScimForOrganizationsOnly();
  return orgId;
}

const auditedToken = ({ id, name, partnerId, orgId }: ScimTokenRow) => ({
  type: 'scim_token',
  id,
  name,
  partnerId,
  orgId,
});
