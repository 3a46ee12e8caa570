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

/** Snapshots are cached for minutes: an earlier refusal shows that the invalidation arrived. */
const LONG_BEFORE_EXPIRY_MS = 5_000;

/** Two replicas of two services, each called on its own port. */
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

  /** Asserts that every replica accepts the token, applies the change, and asserts that none accepts it any more. */
  const refusedEverywhere = async (what: string, bearer: string, change: () => Promise<unknown>, status: number) => {
    for (const replica of replicas) must(await at(replica, bearer), 200);
    await change();
    const changedAt = performance.now();
    const took = await Promise.all(
      replicas.map(async (replica) => {
        for (;;) {
          const response = await at(replica, bearer);
          const ms = performance.now() - changedAt;
          if (response.status === status) return ms;
          if (ms > LONG_BEFORE_EXPIRY_MS) throw new Error(`${replica.name} still answers ${response.status}`);
        }
      }),
    );
    process.stdout.write(`    ${what}: ${took.map((ms) => `${Math.round(ms)} ms`).join(', ')}\n`);
  };

  it('runs on two replicas of two services', () => {
    expect(replicas.map(({ name }) => name)).toEqual(['identity 1', 'identity 2', 'provisioning 1', 'provisioning 2']);
  });

  it('by removing a member is effective on every replica at once', async () => {
    const leaver = await member();
    const remove = async () => must(await owner.client.delete(`/users/${leaver.userId}`), 200);
    await refusedEverywhere('off-boarding', await bearerOf(leaver), remove, 401);
  });

  it('by a logout is effective on every replica at once', async () => {
    const bearer = await bearerOf(await member());
    const logout = async () => must(await new ApiClient(fleet.baseUrl).as({ bearer }).post('/auth/logout'), 200);
    await refusedEverywhere('logout', bearer, logout, 401);
  });

  it('by a new password is effective on every replica at once', async () => {
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

  it('by an ended session is effective on every replica at once', async () => {
    const user = await member();
    const [lost, kept] = [await bearerOf(user), await bearerOf(user)];
    const endOthers = async () =>
      must(await new ApiClient(fleet.baseUrl).as({ bearer: kept }).delete('/auth/sessions'), 200);
    await refusedEverywhere('session ended', lost, endOthers, 401);
  });

  it('by an admin MFA reset is effective on every replica at once', async () => {
    const user = await member();
    const login = new ApiClient(fleet.baseUrl).as({ bearer: await bearerOf(user) });
    const { bearer } = await enrollTotp(login);
    const reset = async () => must(await owner.client.post(`/users/${user.userId}/mfa/reset`, {}), 200);
    await refusedEverywhere('factor reset', bearer, reset, 401);
  });

  it('by the platform is effective on every replica at once', async () => {
    const user = await member();
    const admin = await signInAdmin(fleet);
    const disable = async () => must(await admin.patch(`/users/${user.userId}`, { status: 'disabled' }), 200);
    await refusedEverywhere('account disabled', await bearerOf(user), disable, 401);
  });

  it('of a role is effective for roles that inherit from it, on every replica', async () => {
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

  it('of the policy is effective on every replica at once', async () => {
    const bearer = await bearerOf(await member());
    const policy = (requireMfa: boolean) =>
      owner.client.patch('/orgs/partners/me', { settings: { security: { requireMfa } } });
    await refusedEverywhere('policy', bearer, async () => must(await policy(true), 200), 428);
    must(await policy(false), 200);
  });
});
