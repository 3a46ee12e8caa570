import type { Msg } from 'nats';
import { randomUUID } from 'node:crypto';
import { PROVISIONING_DEVICES_EXISTING, PROVISIONING_SITES_GET } from '@rmm/contracts';
import type { OrganizationState, SiteState } from '@rmm/contracts';
import type { NatsLink } from '@rmm/messaging';
import { FakeOrganizations } from '@rmm/testing/fake-tenants';

/** Fakes provisioning: sites, organizations, and which devices exist. */
export class FakeProvisioning {
  /** Ids of the devices that exist. */
  readonly devices = new Set<string>();
  /** True: requests for sites and existing devices get no reply. */
  unavailable = false;
  private readonly organizations: FakeOrganizations;
  private readonly sites = new Map<string, SiteState>();

  constructor(link: NatsLink) {
    this.organizations = new FakeOrganizations(link);
    const serve = <Q>(subject: string, handle: (payload: Q) => unknown) =>
      link.connection.subscribe(subject, {
        callback: (_: unknown, message: Msg) => {
          const value = handle(message.json<Q>());
          if (value !== undefined) message.respond(JSON.stringify({ value }));
        },
      });
    serve(PROVISIONING_SITES_GET.subject, ({ orgId, siteId }: { orgId: string; siteId: string }) => {
      if (this.unavailable) return undefined;
      const site = this.sites.get(siteId);
      return { site: site?.orgId === orgId ? site : null };
    });
    serve(PROVISIONING_DEVICES_EXISTING.subject, ({ deviceIds }: { deviceIds: string[] }) =>
      this.unavailable ? undefined : { existing: deviceIds.filter((id) => this.devices.has(id)) },
    );
  }

  stop(): void {
    this.organizations.stop();
  }

  addOrganization(organization: OrganizationState): void {
    this.organizations.add(organization);
  }

  /** @returns the id of the new site */
  addSite(orgId: string): string {
    const { partnerId = '' } = this.organizations.find(orgId) ?? {};
    const siteId = randomUUID();
    const site: SiteState = { siteId, orgId, partnerId, name: 'Site', deleted: false, version: 1 };
    this.sites.set(siteId, site);
    return siteId;
  }
}
