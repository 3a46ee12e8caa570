import { randomUUID } from 'node:crypto';
import {
  IDENTITY_SECURITY_POLICY_APPLY,
  subjects,
  type ApplySecurityPolicyRequest,
  type Envelope,
} from '@rmm/contracts';
import { NatsLink, RpcClient } from '@rmm/messaging';
import type { DomainError } from '@rmm/service-kit';
import type { MfaConfig } from '../src/config.js';
import { IdentityTestApp, type IdentityReplica } from './identity-test-app.js';
import { actingUserOf, enrollTotp, inviteAndAccept, registerPartner, roleId, type TestUser } from './users.js';

interface AuditedChange {
  result: string;
  details: Record<string, unknown>;
  ip_address: string;
  org_id: string;
}

/** One replica of identity, which gets requests for security policies from a fake provisioning. */
export class PolicyTestApp {
  /** The events `organization.security_policy_updated` so far. */
  readonly received: Envelope[] = [];

  private constructor(
    readonly stores: IdentityTestApp,
    readonly identity: IdentityReplica,
    private readonly provisioning: NatsLink,
    private readonly onlooker: NatsLink,
  ) {}

  static async start(mfa: Partial<MfaConfig> = {}): Promise<PolicyTestApp> {
    const stores = await IdentityTestApp.start();
    const identity = await stores.startReplica({}, mfa);
    const provisioning = new NatsLink({ url: stores.nats.urlFor('provisioning'), name: 'provisioning-spec' });
    const onlooker = new NatsLink({ url: stores.nats.adminUrl, name: 'onlooker' });
    await Promise.all([provisioning.open(), onlooker.open()]);
    const testApp = new PolicyTestApp(stores, identity, provisioning, onlooker);
    await testApp.subscribe();
    return testApp;
  }

  async stop(): Promise<void> {
    await Promise.all([this.provisioning.close(), this.onlooker.close()]);
    await this.stores.stop();
  }

  query<Row extends object>(sql: string, params?: unknown[]): Promise<Row[]> {
    return this.stores.query<Row>(sql, params);
  }

  /** Registers a partner whose administrator has satisfied MFA by an authenticator app. */
  async protectedPartner() {
    const partner = await registerPartner(this.identity);
    return { ...partner, ...(await enrollTotp(this.identity, partner.bearer)) };
  }

  /** Registers a partner whose session has satisfied MFA, and removes the factor again. */
  async provenPartner() {
    const partner = await this.protectedPartner();
    await this.query('delete from totp_factor where user_id = $1', [partner.userId]);
    await this.query('update user_account set mfa_enabled = false, mfa_method = null where id = $1', [partner.userId]);
    return partner;
  }

  async withOrganization(partnerId: string): Promise<string> {
    const orgId = randomUUID();
    const slug = `customer-${orgId}`;
    await this.query(
      `insert into organization_directory (org_id, partner_id, name, slug, status, version)
       values ($1, $2, 'Customer', $3, 'active', 1)`,
      [orgId, partnerId, slug],
    );
    return orgId;
  }

  async orgMember({ bearer }: { bearer: string }, orgId: string): Promise<TestUser> {
    const role = await roleId(this.identity, bearer, 'Org Admin', `&orgId=${orgId}`);
    return inviteAndAccept(this.identity, bearer, { roleId: role, orgId });
  }

  /** Changes the policy of the caller's partner. */
  patchOwn(bearer: string, security: unknown, from?: string) {
    return this.identity.patch('/orgs/partners/me', { settings: { security } }, { bearer, from });
  }

  /** Returns the stored policy of a partner. */
  async stored(partnerId: string): Promise<unknown> {
    const [row] = await this.query<{ security: unknown }>(
      `select settings -> 'security' as security from partner where id = $1`,
      [partnerId],
    );
    return row?.security;
  }

  auditOf(partnerId: string, action: string): Promise<AuditedChange[]> {
    return this.query<AuditedChange>(
      `select e.result, e.details, coalesce(n.name, e.ip_address) as ip_address, e.org_id from audit_entry e
         left join audit_name n on n.org_id = e.org_id and n.pseudonym = e.ip_address
       where e.partner_id = $1 and e.action = $2 order by e.sequence`,
      [partnerId, action],
    );
  }

  /** Builds the request by which provisioning changes the policy of an organization. */
  request(user: TestUser, orgId: string, security: unknown): ApplySecurityPolicyRequest {
    return {
      orgId,
      partnerId: user.partnerId,
      orgName: 'Customer',
      security,
      caller: actingUserOf(user),
      ipAddress: '203.0.113.9',
      userAgent: 'spec',
    };
  }

  apply(asked: ApplySecurityPolicyRequest) {
    return new RpcClient(this.provisioning).call(IDENTITY_SECURITY_POLICY_APPLY, asked);
  }

  /** Returns the error of a request that is refused. */
  refusal(asked: ApplySecurityPolicyRequest) {
    return this.apply(asked).then(
      () => Promise.reject(new Error('it was applied')),
      ({ status, code, extras, fieldErrors }: DomainError) => ({ status, code, extras, fieldErrors }),
    );
  }

  private async subscribe(): Promise<void> {
    this.onlooker.connection.subscribe(subjects.internal('identity', 'organization.security_policy_updated'), {
      callback: (_, message) => void this.received.push(message.json<Envelope>()),
    });
    await this.onlooker.connection.flush();
  }
}
