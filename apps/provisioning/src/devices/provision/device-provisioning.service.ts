import { Inject, Injectable } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { assertDevice, assertManagesSite, PartnerDirectory, TenantInactive, type Caller } from '@rmm/access';
import { AuditTrail, Outbox } from '@rmm/messaging';
import { TenantDatabase, type TenantTransaction } from '@rmm/persistence';
import { hashKey, mintAgentToken, mintOpaqueToken } from '@rmm/secrets';
import { ValidationError } from '@rmm/service-kit';
import { AGENT_CONFIG } from '../../agents/agent.config.js';
import { PROVISIONING_CONFIG, type ProvisioningConfig } from '../../config.js';
import { DeviceLimitExceeded } from '../../enrollment/enrollment.errors.js';
import { OrganizationsRepository } from '../../organizations/organizations.repository.js';
import { PartnersRepository } from '../../partners/partners.repository.js';
import { SitesRepository } from '../../sites/sites.repository.js';
import { toDeviceDto } from '../device.mapper.js';
import { DevicesRepository } from '../devices.repository.js';
import { HostnameCollision, ProvisionTokenExpired } from './device-provision.errors.js';
import {
  DeviceProvisionsRepository,
  type LockedProvision,
  type NewPendingDevice,
} from './device-provisions.repository.js';
import type { FetchedDeviceDto, ProvisionDeviceDto, ProvisionedDeviceDto } from './dto/provision-device.dto.js';

const TOKEN_MINUTES = 5;
const TOKEN_FORMAT = /^[A-Za-z0-9_-]{43}$/;

/**
 * Creates single devices before their agent is installed. It has ten dependencies: one transaction writes the device, its token,
 * the counter of the partner, the event and the audit entry. @see docs/reference/provisioning.md#devices
 */
@Injectable()
export class DeviceProvisioningService {
  private readonly serverUrl: string;

  constructor(
    @Inject(PROVISIONING_CONFIG) { publicApiUrl }: Pick<ProvisioningConfig, 'publicApiUrl'>,
    private readonly tenants: TenantDatabase,
    private readonly provisions: DeviceProvisionsRepository,
    private readonly devices: DevicesRepository,
    private readonly organizations: OrganizationsRepository,
    private readonly sites: SitesRepository,
    private readonly partners: PartnerDirectory,
    private readonly counters: PartnersRepository,
    private readonly outbox: Outbox,
    private readonly audit: AuditTrail,
  ) {
    this.serverUrl = publicApiUrl;
  }

  /**
   * Creates a pending device and the one-time token for its agent. Requests for one hostname of an organization follow
   * each other.
   * @throws OrganizationAccessDenied, HostnameCollision, DeviceLimitExceeded, TenantInactive; ValidationError  for a site
   *   of another organization; SiteAccessDenied  for a caller restricted to other sites or to groups
   */
  async provision(caller: Caller, dto: ProvisionDeviceDto): Promise<ProvisionedDeviceDto> {
    const { siteId, hostname, osType, displayName = null } = dto;
    const orgId = dto.orgId ?? caller.tenant.orgId;
    if (orgId === null) throw ValidationError.forField('orgId', 'is required');
    const { partnerId } = await this.organizations.getAccessible(caller, orgId);
    assertManagesSite(caller, siteId);
    const cap = await this.getCap(partnerId);
    const device = { id: randomUUID(), partnerId, orgId, siteId, hostname, osType, displayName };
    const lock = `rmm.provisioning.hostname.${orgId}.${hostname.toLowerCase()}`;
    return this.tenants.lockedTransaction(caller, lock, async (tx) => {
      await this.organizations.getAccessible(tx, orgId);
      if (!(await this.sites.keep(tx, orgId, siteId))) {
        throw ValidationError.forField('siteId', 'is not a site of the organization');
      }
      if (await this.provisions.isHostnameTaken(tx, orgId, hostname)) throw new HostnameCollision();
      return this.create(tx, caller, device, cap);
    });
  }

  /**
   * Returns the identity of the agent, once.
   * @throws ValidationError  for a malformed token; NotFoundError  for a used, unknown or foreign one;
   *   ProvisionTokenExpired; SiteAccessDenied  for a caller restricted to other sites
   */
  fetch(caller: Caller, token: string): Promise<FetchedDeviceDto> {
    if (!TOKEN_FORMAT.test(token)) throw ValidationError.forField('token', 'must be 43 base64url characters');
    const { key: authToken, keyHash } = mintAgentToken();
    return this.tenants.transaction(caller, async (tx) => {
      const device = await this.provisions.lock(tx, caller, hashKey(token));
      assertDevice(caller, device);
      if (device.isExpired) throw new ProvisionTokenExpired();
      await this.publishEnrolled(tx, caller, device);
      await this.provisions.redeem(tx, device.deviceId, keyHash);
      const { agentId, deviceId, orgId, siteId } = device;
      return { agentId, deviceId, authToken, orgId, siteId, serverUrl: this.serverUrl, config: AGENT_CONFIG };
    });
  }

  private async getCap(partnerId: string): Promise<number | null> {
    const partner = await this.partners.find(partnerId);
    if (partner?.status !== 'active') throw new TenantInactive();
    return partner.maxDevices;
  }

  /** The counter of the partner is checked before anything is written, and exactly once the new device is counted. */
  private async create(
    tx: TenantTransaction,
    caller: Caller,
    device: NewPendingDevice,
    cap: number | null,
  ): Promise<ProvisionedDeviceDto> {
    const { id: deviceId, partnerId, orgId, siteId, hostname, osType } = device;
    const assertAtMost = async (devices: number) => {
      if ((await this.counters.countDevices(tx, partnerId)) > devices) throw new DeviceLimitExceeded();
    };
    if (cap !== null) await assertAtMost(cap - 1);
    const resource = { type: 'device', id: deviceId, name: hostname, orgId, partnerId };
    await this.audit.record(tx, caller, 'device.provision', resource, { siteId, osType });
    await this.provisions.createDevice(tx, device);
    if (cap !== null) await assertAtMost(cap);
    const { key: token, keyHash: tokenHash } = mintOpaqueToken();
    const expiresAt = await this.provisions.create(tx, { deviceId, partnerId, orgId, tokenHash }, TOKEN_MINUTES);
    return {
      success: true,
      device: toDeviceDto(await this.devices.get(tx, deviceId)),
      credentials: {
        fetch_url: `${this.serverUrl}/api/v1/devices/provision/fetch/${token}`,
        fetch_token: token,
        expires_at: expiresAt.toISOString(),
        single_use: true,
      },
    };
  }

  private async publishEnrolled(tx: TenantTransaction, caller: Caller, device: LockedProvision): Promise<void> {
    const { deviceId, hostname, osType, siteId, orgId, partnerId, version } = device;
    await this.outbox.publish(tx, {
      stream: 'events',
      type: 'device.enrolled',
      aggregateId: deviceId,
      aggregateVersion: Number(version) + 1,
      partnerId,
      orgId,
      actor: caller.actor,
      data: { deviceId, hostname, osType, siteId, enrollmentKeyId: null, agentVersion: null },
    });
    const resource = { type: 'device', id: deviceId, name: hostname, orgId, partnerId };
    await this.audit.record(tx, caller, 'device.provision.fetch', resource, { siteId, osType });
  }
}
