import {
  ApiClient,
  enrollTotp,
  connectToFleet,
  inviteAndAccept,
  partnerWithMfa,
  PASSWORD,
  signInAdmin,
  type ApiResponse,
  type SignedIn,
} from '@rmm/testing';
import { must } from '../steps.js';

/** Snapshots live for minutes: what is refused sooner was refused because the replica was told. */
const LONG_BEFORE_EXPIRY_MS = 5_000;

/** Two replicas of two services, each asked on its own port. */
describe('a change of access', () => {
  const fleet = connectToFleet();
  const replicas = ['identity', 'provisioning'].flatMap((service) =>
    (fleet.services.find(({ name }) => name === service)?.instances ?? []).map(({ port }, index) => ({
      name: `${service} ${index + 1}`,
      url: `http://127.0.0.1:${port}`,
      path: service === 'identity' ? '/permissions/catalog' : '/orgs/organizations',
    })),
  );
  let owner: SignedIn & { secret: string };
  let role: string;

  const at = (replica: (typeof replicas)[number], bearer: string, path = replica.path): Promise<ApiResponse> =>
    new ApiClient(replica.url).as({ bearer }).get(path);

  beforeAll(async () => {
    owner = await partnerWithMfa(fleet);
    const pairs = ['read', 'write'].map((action) => ({ resource: 'organizations', action }));
    role = must(await owner.client.post('/roles', { name: 'Customers', permissions: pairs }), 201).id as string;
  });

  const member = (roleId = role) => inviteAndAccept(fleet, owner.client, { roleId, orgAccess: 'all' });
  const bearerOf = async ({ email }: { email: string }) =>
    must(await new ApiClient(fleet.baseUrl).post('/auth/login', { email, password: PASSWORD }), 200).tokens
      .accessToken as string;

  /** Every replica has answered this token before; then the change; then none does any more. */
  const refusedEverywhere = async (what: string, bearer: string, change: () => Promise<unknown>, status: number) => {
    for (const replica of replicas) must(await at(replica, bearer), 200);
    await change();
    const changedAt = performance.now();
    const took = await Promise.all(
      replicas.map(async (replica) => {
        for (;;) {
          const answer = await at(replica, bearer);
          const ms = performance.now() - changedAt;
          if (answer.status === status) return ms;
          if (ms > LONG_BEFORE_EXPIRY_MS) throw new Error(`${replica.name} still answers ${answer.status}`);
        }
      }),
    );
    process.stdout.write(`    ${what}: ${took.map((ms) => `${Math.round(ms)} ms`).join(', ')}\n`);
  };

  it('runs on two replicas of two services', () => {
    expect(replicas.map(({ name }) => name)).toEqual(['identity 1', 'identity 2', 'provisioning 1', 'provisioning 2']);
  });

  it('by off-boarding reaches every replica at once', async () => {
    const leaver = await member();
    const remove = async () => must(await owner.client.delete(`/users/${leaver.userId}`), 200);
    await refusedEverywhere('off-boarding', await bearerOf(leaver), remove, 401);
  });

  it('by a logout reaches every replica at once', async () => {
    const bearer = await bearerOf(await member());
    const logout = async () => must(await new ApiClient(fleet.baseUrl).as({ bearer }).post('/auth/logout'), 200);
    await refusedEverywhere('logout', bearer, logout, 401);
  });

  it('by a new password reaches every replica at once', async () => {
    const bearer = await bearerOf(await member());
    const change = async () =>
      must(
        await new ApiClient(fleet.baseUrl)
          .as({ bearer })
          .post('/auth/change-password', { currentPassword: PASSWORD, newPassword: 'another-horse-battery-8' }),
        200,
      );
    await refusedEverywhere('password change', bearer, change, 401);
  });

  it('by an ended session reaches every replica at once', async () => {
    const person = await member();
    const [lost, kept] = [await bearerOf(person), await bearerOf(person)];
    const endOthers = async () =>
      must(await new ApiClient(fleet.baseUrl).as({ bearer: kept }).delete('/auth/sessions'), 200);
    await refusedEverywhere('session ended', lost, endOthers, 401);
  });

  it('by an administrator who resets the factor reaches every replica at once', async () => {
    const person = await member();
    const login = new ApiClient(fleet.baseUrl).as({ bearer: await bearerOf(person) });
    const { bearer } = await enrollTotp(login);
    const reset = async () => must(await owner.client.post(`/users/${person.userId}/mfa/reset`, {}), 200);
    await refusedEverywhere('factor reset', bearer, reset, 401);
  });

  it('by the platform reaches every replica at once', async () => {
    const person = await member();
    const admin = await signInAdmin(fleet);
    const disable = async () => must(await admin.patch(`/users/${person.userId}`, { status: 'disabled' }), 200);
    await refusedEverywhere('account disabled', await bearerOf(person), disable, 401);
  });

  it('of a role reaches who inherits from it, on every replica that asks for its permissions', async () => {
    const child = must(await owner.client.post('/roles', { name: 'Child', parentRoleId: role }), 201).id as string;
    const bearer = await bearerOf(await member(child));
    const ask = replicas.filter(({ name }) => name.startsWith('provisioning'));
    for (const replica of ask) must(await at(replica, bearer), 200);
    const permissions = [{ resource: 'devices', action: 'read' }];
    must(await owner.client.patch(`/roles/${role}`, { permissions }), 200);
    const changedAt = performance.now();
    for (const replica of ask) {
      for (;;) {
        const { status } = await at(replica, bearer);
        if (status === 403) break;
        if (performance.now() - changedAt > LONG_BEFORE_EXPIRY_MS) throw new Error(`${replica.name} answers ${status}`);
      }
    }
    process.stdout.write(`    role change: ${Math.round(performance.now() - changedAt)} ms\n`);
    const back = [{ resource: 'organizations', action: 'read' }];
    must(await owner.client.patch(`/roles/${role}`, { permissions: back }), 200);
  });

  it('of the policy reaches every replica at once', async () => {
    const bearer = await bearerOf(await member());
    const policy = (requireMfa: boolean) =>
      owner.client.patch('/orgs/partners/me', { settings: { security: { requireMfa } } });
    await refusedEverywhere('policy', bearer, async () => must(await policy(true), 200), 428);
    must(await policy(false), 200);
  });
});
