import { PROVISIONING_SITES_EXISTING } from '@rmm/contracts';
import { NatsLink } from '@rmm/messaging';
import type { IdentityTestApp } from './identity-test-app.js';

/** Answers for provisioning, under its login, which sites there are: specs of identity run identity alone. */
export async function startFakeProvisioning(testApp: IdentityTestApp, sites: ReadonlySet<string>): Promise<NatsLink> {
  const link = new NatsLink({ url: testApp.nats.urlFor('provisioning'), name: 'provisioning-spec' });
  await link.open();
  link.connection.subscribe(PROVISIONING_SITES_EXISTING.subject, {
    callback: (_, message) => {
      const { siteIds } = message.json<{ siteIds: string[] }>();
      message.respond(JSON.stringify({ value: { siteIds: siteIds.filter((id) => sites.has(id)) } }));
    },
  });
  await link.connection.flush();
  return link;
}
