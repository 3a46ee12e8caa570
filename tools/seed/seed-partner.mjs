import { poll } from '../processes/wait.mjs';
import { DEVICES, MEMBERS, SITES } from './demo.mjs';
import { acceptInvite, addressOf, signInWithFactor } from './people.mjs';

/**
 * Makes one partner with everything below it, as its people would: through the public API.
 * @param {{ platform: object, plan: object, password: string, withMembers: boolean, say: Function }} options
 * @returns {Promise<{ client: object, admin: object, people: object[], organizations: object[], devices: number }>}
 */
export async function seedPartner({ platform, plan, password, withMembers, say }) {
  const admin = { name: plan.admin, email: addressOf(plan.admin, plan.domain), role: 'Partner Admin' };
  await platform.post('/orgs/partners', { name: plan.name, admin: { email: admin.email, name: admin.name } });
  const first = platform.as(await acceptInvite(platform, admin.email, password));
  const { token, secret } = await signInWithFactor(first, { email: admin.email, password });
  const client = platform.as(token);
  say(`partner ${plan.name}`);

  const organizations = [];
  for (const name of plan.organizations) organizations.push(await createOrganization(client, name));
  say(`  ${organizations.length} organizations with ${organizations.length * SITES.length} sites`);
  await everyOrganizationIsKnown(client, organizations);

  const staff = await invite(client, plan.staff, {
    plan,
    password,
    bodyOf: (person) => accessOf(person, organizations),
  });
  const [home] = organizations;
  const members = withMembers
    ? await invite(client, MEMBERS, { plan, password, query: `?orgId=${home.id}`, bodyOf: () => ({ orgId: home.id }) })
    : [];
  say(`  ${staff.length + members.length + 1} people`);

  const devices = await enrollDevices(client, organizations);
  say(`  ${devices} devices`);
  return { client, admin: { ...admin, totpSecret: secret }, people: [...staff, ...members], organizations, devices };
}

async function createOrganization(client, name) {
  const { id } = await client.post('/orgs/organizations', { name });
  const sites = [];
  for (const site of SITES) sites.push((await client.post('/orgs/sites', { orgId: id, name: site })).id);
  return { id, name, sites };
}

/** The other services learn of a new organization by event. */
async function everyOrganizationIsKnown(client, organizations) {
  for (const { id } of organizations) {
    await poll(
      () =>
        client.get(`/enrollment-keys?orgId=${id}`).then(
          () => true,
          () => false,
        ),
      { timeoutMs: 10_000, everyMs: 100 },
    );
  }
}

const accessOf = ({ orgAccess }, organizations) =>
  orgAccess === 'selected' ? { orgAccess, orgIds: organizations.slice(0, 2).map(({ id }) => id) } : { orgAccess };

async function invite(client, people, { plan, password, query = '', bodyOf }) {
  const { data: roles } = await client.get(`/roles${query || '?'}${query ? '&' : ''}limit=100`);
  const invited = [];
  for (const person of people) {
    const email = addressOf(person.name, plan.domain);
    const roleId = roles.find(({ name }) => name === person.role).id;
    await client.post('/users/invite', { email, name: person.name, roleId, ...bodyOf(person) });
    await acceptInvite(client, email, password);
    invited.push({ name: person.name, email, role: person.role });
  }
  return invited;
}

/** Each agent comes from an address of its own. */
async function enrollDevices(client, organizations) {
  let count = 0;
  for (const { id: orgId, name, sites } of organizations) {
    const { key: enrollmentKey } = await client.post('/enrollment-keys', { orgId, name: 'Roll-out', maxUsage: 500 });
    const prefix = name.toLowerCase().replace(/[^a-z]+/g, '-');
    for (const [i, device] of DEVICES.entries()) {
      const hostname = `${prefix}-${device.hostname}`;
      await client.as(null).post('/agents/enroll', {
        ...device,
        hostname,
        enrollmentKey,
        siteId: sites[i % sites.length],
        agentVersion: '1.0.0',
      });
      count += 1;
    }
  }
  return count;
}
