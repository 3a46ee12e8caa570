import { Inject, Injectable } from '@nestjs/common';
import { DenialAuditService, forwardedIdempotency, type PartnerKeyCaller, toActingCaller } from '@rmm/access';
import {
  CREDENTIALS_PARTNER_ENROLLMENT_KEYS_CREATE,
  type PartnerWriteReply,
  PROVISIONING_PARTNER_ORGANIZATIONS_CREATE,
  PROVISIONING_PARTNER_SITES_CREATE,
  type RpcContract,
} from '@rmm/contracts';
import { AuditTrail, RpcClient } from '@rmm/messaging';
import { currentContext, ForbiddenError, Logger, toDomainError } from '@rmm/service-kit';
import { PARTNER_GATEWAY_CONFIG, type PartnerGatewayConfig } from '../config.js';
import { ADDRESS_FIELDS, CONTACT_FIELDS, ORGANIZATIONS, SITES } from '../export/export-record.mapper.js';
import { PageRecordsService } from '../export/page-records.service.js';
import { pickFields } from '../export/resources/collection.js';
import { waitForAudit } from '../wait-for-audit.js';
import { type CreatedRecordBody, toCreatedEnrollmentKey, toCreatedRecord } from './created-record.mapper.js';
import type { CreateEnrollmentKeyDto } from './dto/create-enrollment-key.dto.js';
import type { CreateOrganizationDto } from './dto/create-organization.dto.js';
import type { CreateSiteDto } from './dto/create-site.dto.js';
import type { CreatedEnrollmentKeyDto } from './dto/created.dto.js';

type Resource = 'organizations' | 'sites' | 'enrollment-keys';

/** The fields of a request to an owner that differ between the writes. */
type WriteRequest<Request> = Omit<Request, 'caller' | 'idempotency'>;

/**
 * Creates records at the services that own them, for the partner of the key. An owner stores the response of a request with
 * an idempotency key.
 * @see docs/reference/partner-interface.md
 */
@Injectable()
export class WritesService {
  constructor(
    @Inject(PARTNER_GATEWAY_CONFIG)
    private readonly config: Pick<PartnerGatewayConfig, 'mintRequiresRestrictedPrincipal'>,
    private readonly rpc: RpcClient,
    private readonly records: PageRecordsService,
    private readonly audit: AuditTrail,
    private readonly denials: DenialAuditService,
    private readonly logger: Logger,
  ) {}

  /** @throws the refusals of provisioning; UnavailableError when it cannot be reached */
  async createOrganization(caller: PartnerKeyCaller, dto: CreateOrganizationDto): Promise<CreatedRecordBody> {
    const { name, slug, type = 'customer', status = 'active' } = dto;
    const given = { name, slug, type, status };
    const record = await this.write(caller, 'organizations', PROVISIONING_PARTNER_ORGANIZATIONS_CREATE, given);
    return toCreatedRecord(await this.records.select(ORGANIZATIONS, [record]));
  }

  /** @throws the refusals of provisioning; UnavailableError when it cannot be reached */
  async createSite(caller: PartnerKeyCaller, dto: CreateSiteDto): Promise<CreatedRecordBody> {
    const { orgId, name, timezone = 'UTC', address, contact } = dto;
    const record = await this.write(caller, 'sites', PROVISIONING_PARTNER_SITES_CREATE, {
      orgId,
      name,
      timezone,
      address: address ? pickFields(address, ADDRESS_FIELDS) : null,
      contact: contact ? pickFields(contact, CONTACT_FIELDS) : null,
    });
    return toCreatedRecord(await this.records.select(SITES, [record]));
  }

  /** @throws the refusals of credentials; UnavailableError when it cannot be reached */
  async createEnrollmentKey(caller: PartnerKeyCaller, dto: CreateEnrollmentKeyDto): Promise<CreatedEnrollmentKeyDto> {
    const { orgId, siteId = null, name, maxUsage = 1, ttlMinutes = null, expiresAt, issueEnrollmentSecret } = dto;
    const record = await this.write(caller, 'enrollment-keys', CREDENTIALS_PARTNER_ENROLLMENT_KEYS_CREATE, {
      orgId,
      siteId,
      name,
      maxUsage,
      ttlMinutes,
      expiresAt: expiresAt?.toISOString() ?? null,
      issueSecret: issueEnrollmentSecret ?? false,
      requireRestrictedPrincipal: this.config.mintRequiresRestrictedPrincipal,
    });
    return toCreatedEnrollmentKey(record);
  }

  /** Sends the request to the owner and records the call in the audit log, unless its response is a stored one. */
  private async write<Request, T extends { id: string; orgId: string; name: string }>(
    caller: PartnerKeyCaller,
    resource: Resource,
    contract: RpcContract<Request, PartnerWriteReply<T>>,
    given: WriteRequest<Request>,
  ): Promise<T> {
    const request = { ...given, caller: toActingCaller(caller), idempotency: forwardedIdempotency() } as Request;
    const { record, replayed } = await this.rpc.call(contract, request).catch(async (error: unknown) => {
      await this.recordRefused(caller, resource, error);
      throw error;
    });
    const { idempotency } = currentContext() ?? {};
    if (replayed && idempotency) idempotency.replayed = true;
    else await this.recordCreated(caller, resource, record);
    return record;
  }

  private recordCreated(
    caller: PartnerKeyCaller,
    resource: Resource,
    { id, orgId, name }: { id: string; orgId: string; name: string },
  ): Promise<void> {
    const target = { type: 'partner_request', id, name, orgId };
    const entry = this.audit.recordDirect(caller, 'partner_api.request', target, detailsOf(caller, resource));
    return waitForAudit(entry, this.logger);
  }

  /**
   * Records a refusal, aggregated when access is denied. Leaves the body out: it may name another partner's organization.
   */
  private async recordRefused(caller: PartnerKeyCaller, resource: Resource, error: unknown): Promise<void> {
    const { code } = toDomainError(error);
    const details = detailsOf(caller, resource);
    if (error instanceof ForbiddenError) {
      const route = `POST /partner-api/${resource}`;
      this.denials.record({ caller, action: 'partner_api.request', code, route, details });
      const context = currentContext();
      if (context) context.audited = true;
      return;
    }
    const target = { type: 'partner_request', name: resource };
    const entry = this.audit.recordDirect(caller, 'partner_api.request', target, details, 'failure', code);
    await waitForAudit(entry, this.logger);
  }
}

const detailsOf = ({ keyId }: PartnerKeyCaller, resource: Resource) => ({ resource, keyId });
