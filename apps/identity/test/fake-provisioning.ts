import { PROVISIONING_SITES_EXISTING } from '@rmm/contracts';
import { NatsLink } from '@rmm/messaging';
import type { IdentityTestApp } from './identity-test-app.js';

/** Replies like provisioning, under its login, to questions about sites. */
export class FakeProvisioning {
  private constructor(private readonly link: NatsLink) {}

  static async start(testApp: IdentityTestApp, sites: ReadonlySet<string>): Promise<FakeProvisioning> {
    const link = new NatsLink({ url: testApp.nats.urlFor('provisioning'), name: 'provisioning-spec' });
    await link.open();
    link.connection.subscribe(PROVISIONING_SITES_EXISTING.subject, {
      callback: (_, message) => {
        const { siteIds } = message.json<{ siteIds: string[] }>();
        message.respond(JSON.stringify({ value: { siteIds: siteIds.filter((id) => sites.has(id)) } }));
      },
    });
    await link.connection.flush();
    return new FakeProvisioning(link);
  }

  stop(): Promise<void> {
    return this.link.close();
  }
}
