import { PROVISIONING_DEVICE_GROUPS_EXISTING, PROVISIONING_SITES_EXISTING } from '@rmm/contracts';
import { NatsLink } from '@rmm/messaging';
import type { IdentityTestApp } from './identity-test-app.js';

/** Replies like provisioning, under its login, to questions about sites and device groups. */
export class FakeProvisioning {
  private constructor(private readonly link: NatsLink) {}

  static async start(
    testApp: IdentityTestApp,
    sites: ReadonlySet<string>,
    deviceGroups: ReadonlySet<string> = new Set(),
  ): Promise<FakeProvisioning> {
    const link = new NatsLink({ url: testApp.nats.urlFor('provisioning'), name: 'provisioning-spec' });
    await link.open();
    const serve = (subject: string, field: 'siteIds' | 'deviceGroupIds', known: ReadonlySet<string>) =>
      link.connection.subscribe(subject, {
        callback: (_, message) => {
          const ids = message.json<Record<string, string[]>>()[field];
          message.respond(JSON.stringify({ value: { [field]: ids.filter((id) => known.has(id)) } }));
        },
      });
    serve(PROVISIONING_SITES_EXISTING.subject, 'siteIds', sites);
    serve(PROVISIONING_DEVICE_GROUPS_EXISTING.subject, 'deviceGroupIds', deviceGroups);
    await link.connection.flush();
    return new FakeProvisioning(link);
  }

  stop(): Promise<void> {
    return this.link.close();
  }
}
