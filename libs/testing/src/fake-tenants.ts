import type { Msg, NatsConnection } from 'nats';
import { randomUUID } from 'node:crypto';
import {
  IDENTITY_PARTNERS_GET,
  IDENTITY_PARTNERS_LIST_SINCE,
  PROVISIONING_ORGANIZATIONS_GET,
  PROVISIONING_ORGANIZATIONS_LIST_SINCE,
  subjects,
  type Envelope,
  type ListSinceRequest,
  type OrganizationState,
  type PartnersSinceRequest,
  type PartnerState,
} from '@rmm/contracts';

const HEARTBEAT_MS = 500;

/** Tenants by id, as their owner has them. */
class Tenants<State extends { version: number }> {
  private readonly byId = new Map<string, State>();

  /** Stores a tenant unless a newer version is stored. */
  add(id: string, state: State): void {
    if ((this.byId.get(id)?.version ?? -1) <= state.version) this.byId.set(id, state);
  }

  get(ids: readonly string[]): State[] {
    return ids.flatMap((id) => this.byId.get(id) ?? []);
  }

  page(after: string | null, limit: number): { states: State[]; next: string | null } {
    const ids = [...this.byId.keys()].sort().filter((id) => after === null || id > after);
    const page = ids.slice(0, limit);
    return { states: this.get(page), next: ids.length > limit ? (page.at(-1) ?? null) : null };
  }
}

interface Link {
  connection: NatsConnection;
}

function serve<Request>(link: Link, { subject }: { subject: string }, handle: (request: Request) => unknown): void {
  const respond = async (message: Msg) => {
    const value = await handle(message.json<Request>());
    message.respond(JSON.stringify({ value }));
  };
  // A spec that ends while a reply is prepared has closed what the handler reads.
  link.connection.subscribe(subject, {
    callback: (_: unknown, message: Msg) => void respond(message).catch(() => undefined),
  });
}

/** Serves the partners that identity owns. */
export class FakePartners {
  private readonly partners = new Tenants<PartnerState>();

  constructor(link: Link) {
    serve<{ partnerIds: string[] }>(link, IDENTITY_PARTNERS_GET, ({ partnerIds }) => ({
      partners: this.partners.get(partnerIds),
    }));
    serve<PartnersSinceRequest>(link, IDENTITY_PARTNERS_LIST_SINCE, ({ after, limit }) => {
      const { states, next } = this.partners.page(after, limit);
      return { partners: states, next };
    });
  }

  /** Adds an active partner without caps, with the given changes. */
  add(changes: Partial<PartnerState> & { partnerId: string }): PartnerState {
    const state: PartnerState = {
      name: 'Partner',
      slug: changes.partnerId,
      status: 'active',
      maxOrganizations: null,
      maxDevices: null,
      timezone: 'UTC',
      settings: {},
      version: 1,
      ...changes,
    };
    this.partners.add(state.partnerId, state);
    return state;
  }
}

/** Serves the organizations that provisioning owns, and publishes its heartbeat. */
export class FakeOrganizations {
  private readonly organizations = new Tenants<OrganizationState>();
  private readonly heartbeat: NodeJS.Timeout;

  constructor(link: Link) {
    serve<{ orgIds: string[] }>(link, PROVISIONING_ORGANIZATIONS_GET, ({ orgIds }) => ({
      organizations: this.organizations.get(orgIds),
    }));
    serve<ListSinceRequest>(link, PROVISIONING_ORGANIZATIONS_LIST_SINCE, ({ after, limit }) => {
      const { states, next } = this.organizations.page(after, limit);
      return { organizations: states, next };
    });
    this.heartbeat = publishHeartbeats(link, 'organization.heartbeat');
  }

  /** Adds an active organization, with the given changes. */
  add(changes: Partial<OrganizationState> & { orgId: string; partnerId: string }): OrganizationState {
    const state: OrganizationState = {
      name: 'Acme',
      slug: changes.orgId,
      status: 'active',
      deleted: false,
      version: 1,
      ...changes,
    };
    this.organizations.add(state.orgId, state);
    return state;
  }

  find(orgId: string): OrganizationState | undefined {
    return this.organizations.get([orgId])[0];
  }

  stop(): void {
    clearInterval(this.heartbeat);
  }
}

const STATE = `org_id AS "orgId", partner_id AS "partnerId", name, slug, status, deleted, version::int AS version`;

type Query = (sql: string, values: unknown[]) => Promise<{ rows: OrganizationState[] }>;

/**
 * Serves the rows that a spec inserted into `organization_directory` as if provisioning owned them. Rows with the status
 * `unknown` are those that provisioning does not have.
 */
export class StoredOrganizations {
  private readonly heartbeat: NodeJS.Timeout;

  constructor(link: Link, query: Query) {
    serve<{ orgIds: string[] }>(link, PROVISIONING_ORGANIZATIONS_GET, async ({ orgIds }) => {
      const sql = `SELECT ${STATE} FROM organization_directory WHERE org_id = ANY ($1::uuid[]) AND status <> 'unknown'`;
      return { organizations: (await query(sql, [orgIds])).rows };
    });
    serve<ListSinceRequest>(link, PROVISIONING_ORGANIZATIONS_LIST_SINCE, async () => {
      const sql = `SELECT ${STATE} FROM organization_directory WHERE status <> 'unknown'`;
      return { organizations: (await query(sql, [])).rows, next: null };
    });
    this.heartbeat = publishHeartbeats(link, 'organization.heartbeat');
  }

  stop(): void {
    clearInterval(this.heartbeat);
  }
}

/** Publishes numbered heartbeats until the timer is cleared. */
export function publishHeartbeats(
  { connection }: Link,
  topic: 'access.heartbeat' | 'credential.heartbeat' | 'organization.heartbeat',
): NodeJS.Timeout {
  let sequence = 0;
  const publish = () => {
    if (connection.isClosed()) return;
    const [id, data] = [randomUUID(), { publisher: 'spec', sequence: ++sequence, intervalMs: HEARTBEAT_MS }];
    const envelope: Envelope = {
      id,
      type: topic,
      schemaVersion: 1,
      timestamp: new Date().toISOString(),
      partnerId: null,
      orgId: null,
      aggregateId: id,
      aggregateVersion: 0,
      data,
    };
    connection.publish(subjects.broadcast(topic), JSON.stringify(envelope));
  };
  return setInterval(publish, HEARTBEAT_MS);
}
