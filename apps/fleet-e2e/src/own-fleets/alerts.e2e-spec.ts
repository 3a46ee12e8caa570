import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { rename, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  ApiClient,
  createOrganization,
  eventually,
  partnerWithMfa,
  registerPartner,
  type SignedIn,
} from '@rmm/testing';
import { createApiKey } from '../credentials/machines.js';
import { EventPublisher } from '../outages/event-publisher.js';
import { createWebhook, must } from '../steps.js';
import { publishPartnerEvent, query } from '../tenancy/tenant-state.js';
import { eventsFor } from '../webhooks/webhook-tenants.js';
import { OwnFleet } from './own-fleet.js';
import { PostgresProcesses } from './postgres-processes.js';
import { Prometheus, PROMETHEUS } from './prometheus.js';

jest.setTimeout(600_000);

/** More accounts than the rule of locks allows, with the attempts that lock each. */
const ACCOUNTS = 22;
const WRONG_PASSWORDS = 5;
const LATE_EVENTS = 500;
/** Longer than the objective of a first attempt. */
const HANG_MS = 33_000;
const PATIENCE = { timeoutMs: 180_000, everyMs: 500 };
const DEVICES = { resource: 'devices', action: 'read' };
const SITES = { resource: 'sites', action: 'read' };

const NAME = 'the alerts of a fleet that is broken on purpose';
const isWanted = process.env['ALERT_DRILLS'] === 'true';
const skipped = !isWanted ? 'ALERT_DRILLS is not set' : PROMETHEUS === undefined ? 'Prometheus is not installed' : '';
const describeDrills = skipped ? describe.skip : describe;

describeDrills(skipped ? `${NAME} (skipped: ${skipped})` : NAME, () => {
  let fleet: OwnFleet;
  let prometheus: Prometheus;
  let partner: SignedIn;
  let orgId: string;
  let mailbox: string;
  let postgres: PostgresProcesses | undefined;
  const servers: Server[] = [];

  beforeAll(async () => {
    fleet = await OwnFleet.start([], { RATE_LIMITS_ENABLED: 'true', GLOBAL_RATE_LIMIT_PER_MINUTE: '100000' });
    prometheus = await Prometheus.start(PROMETHEUS ?? '', fleet.handle);
    partner = await partnerWithMfa(fleet.handle);
    orgId = (await createOrganization(partner.client)).orgId;
    mailbox = join(fleet.dir, 'dev/mailbox');
  });
  afterAll(async () => {
    for (const server of servers) server.close();
    await prometheus?.stop();
    await fleet?.stop();
  });

  const openMailbox = async () => {
    if (!existsSync(`${mailbox}-away`)) return;
    await rm(mailbox);
    await rename(`${mailbox}-away`, mailbox);
  };

  /** Undoes what a failed test has left. */
  afterEach(async () => {
    await openMailbox();
    const { services, stores } = await fleet.status();
    for (const { pid } of [...services, ...stores]) if (pid) process.kill(pid, 'SIGCONT');
    postgres?.resume();
    await untilOver('ServiceNotReady');
  });

  const anonymous = () => new ApiClient(fleet.handle.baseUrl);

  /** Waits until each of the alerts has fired since the call, while something goes on. */
  async function expectAlerts(names: readonly string[], meanwhile: () => Promise<unknown> = () => sleep(200)) {
    const missing = new Set(names);
    const isOver = new AbortController();
    const going = (async () => {
      while (!isOver.signal.aborted) await meanwhile();
    })();
    try {
      await eventually(async () => {
        for (const name of await prometheus.firing()) missing.delete(name);
        expect([...missing]).toEqual([]);
      }, PATIENCE);
    } finally {
      isOver.abort();
      await going;
    }
  }

  /** Waits until the alerts have ended: what fires for one cause must not be taken for the next. */
  const untilOver = (...names: readonly string[]) =>
    eventually(
      async () => expect((await prometheus.firing()).filter((name) => names.includes(name))).toEqual([]),
      PATIENCE,
    );

  const pidOf = (service: string) => fleet.handle.services.find(({ name }) => name === service)?.pid ?? NaN;
  const login = (email: string, password: string) => anonymous().post('/auth/login', { email, password });

  /** Starts a receiver. @returns its URL */
  async function receive(status: number, headers: Record<string, string> = {}): Promise<string> {
    const server = createServer((request, response) => {
      request.resume().on('end', () => response.writeHead(status, headers).end());
    });
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
  }

  it('end once the fleet works', () => eventually(async () => expect(await prometheus.firing()).toEqual([]), PATIENCE));

  it('report a service that hangs', async () => {
    process.kill(pidOf('webhook-dispatcher'), 'SIGSTOP');
    await expectAlerts(['ServiceMissing', 'WebhookPartitionsWithoutOwner']);
    process.kill(pidOf('webhook-dispatcher'), 'SIGCONT');
    await untilOver('ServiceMissing', 'WebhookPartitionsWithoutOwner');
  });

  it('report guessed passwords, locked accounts, overload and unknown keys', async () => {
    const accounts = await Promise.all(Array.from({ length: ACCOUNTS }, () => registerPartner(fleet.handle)));
    const guess = async () => {
      for (let n = 0; n < WRONG_PASSWORDS; n++) {
        await Promise.all(accounts.map(({ email }) => login(email, `wrong-${randomUUID()}`)));
      }
    };
    await expectAlerts(['AccountLocksRising', 'PasswordGuessing'], guess);
    const flood = () =>
      Promise.all(Array.from({ length: 400 }, () => login(`${randomUUID()}@unknown.test`, 'wrong-password-1')));
    await expectAlerts(['PasswordHashingOverloaded'], flood);
    const { key } = await createApiKey(partner.client, orgId);
    const unknown = async () => {
      const apiKey = key.slice(0, -8) + randomUUID().slice(0, 8);
      await Promise.all(
        Array.from({ length: 10 }, () => anonymous().as({ apiKey }).get(`/devices/${randomUUID()}/custom-fields`)),
      );
      await sleep(200);
    };
    await expectAlerts(['CredentialsRefused'], unknown);
  });

  it('report a Redis that hangs, and sign-ins that fail without it', async () => {
    await fleet.signalStore('redis', 'SIGSTOP');
    const alerts = ['ServiceNotReady', 'DependencyDown', 'RateLimitsFailClosed'];
    const burns = ['AvailabilityBudgetBurnsFast', 'AvailabilityBudgetBurnsSlowly'];
    await expectAlerts([...alerts, ...burns], () => login(partner.email, partner.password));
    await fleet.signalStore('redis', 'SIGCONT');
    await untilOver('ServiceNotReady', 'DependencyDown');
  });

  it('report mails that fail, wait and are given up', async () => {
    await rename(mailbox, `${mailbox}-away`);
    await writeFile(mailbox, 'no folder, so that no mail can be written');
    const register = async () => {
      const form = { companyName: 'Late', password: partner.password, name: 'Pat Admin', acceptTerms: true };
      await anonymous().post('/auth/register-partner', { ...form, email: `${randomUUID()}@partner.test` });
    };
    await expectAlerts(['MailsFail'], register);
    await query(fleet.handle, 'UPDATE identity.mail SET attempts = 7, next_attempt_at = now() WHERE sent_at IS NULL');
    await expectAlerts(['MailsAbandoned'], register);
    await fleet.signalStore('redis', 'SIGSTOP');
    const delay = `UPDATE identity.mail SET next_attempt_at = now() - interval '6 minutes', attempts = 1
      WHERE sent_at IS NULL AND abandoned_at IS NULL`;
    await query(fleet.handle, delay);
    await expectAlerts(['MailsDelayed']);
    await openMailbox();
    await fleet.signalStore('redis', 'SIGCONT');
    await untilOver('MailsDelayed', 'ServiceNotReady');
  });

  it('report events that cannot be read or handled', async () => {
    const { partnerId } = await registerPartner(fleet.handle);
    const readable = { partnerId, name: 'P', slug: 'p', status: 'active', maxDevices: null, settings: {} };
    await publishPartnerEvent(fleet.handle, partnerId, { ...readable, maxOrganizations: 'many', version: 50 });
    await publishPartnerEvent(fleet.handle, partnerId, { partnerId, status: 7, version: 51 });
    await expectAlerts(['TenantFieldMalformed', 'TenantChangeNotApplied', 'MessageNotHandled']);
  });

  it('report a NATS that hangs, and changes that are late after it', async () => {
    const role = { name: `Role ${randomUUID()}`, permissions: [DEVICES] };
    const { id } = must(await partner.client.post('/roles', role), 201);
    let isWide = false;
    const change = async () => {
      isWide = !isWide;
      const permissions = isWide ? [DEVICES, SITES] : [DEVICES];
      await partner.client.patch(`/roles/${id}`, { permissions });
      await sleep(200);
    };
    await fleet.signalStore('nats', 'SIGSTOP');
    await expectAlerts(['BroadcastsDelayed', 'AccessFeedSilent', 'MessagesDelayed'], change);
    await fleet.signalStore('nats', 'SIGCONT');
    await expectAlerts(['RevocationBudgetBurnsFast', 'RevocationBudgetBurnsSlowly']);
    await untilOver('BroadcastsDelayed', 'AccessFeedSilent', 'MessagesDelayed', 'ServiceNotReady');
  });

  it('report a PostgreSQL that hangs, and events that are late after it', async () => {
    await createWebhook(partner.client, orgId, { url: await receive(200), events: ['alert.triggered'] });
    const events = eventsFor([{ orgId, webhookIds: [] }], LATE_EVENTS);
    const { pid = NaN } = fleet.handle.stores.find(({ name }) => name === 'postgres') ?? {};
    postgres = await PostgresProcesses.suspend(fleet.handle.databaseUrl, pid);
    const since = performance.now();
    const publishing = new EventPublisher(fleet.handle, 0).publishAll(events);
    const lists = () => Promise.all(Array.from({ length: 40 }, () => partner.client.get('/orgs/organizations')));
    await expectAlerts(['DatabasePoolExhausted'], lists);
    await publishing;
    await sleep(Math.max(0, HANG_MS - (performance.now() - since)));
    postgres.resume();
    const burns = ['LatencyBudgetBurns', 'DeliveryAgeBudgetBurns'].flatMap((name) => [`${name}Fast`, `${name}Slowly`]);
    await expectAlerts(['WebhookFirstAttemptsSlow', ...burns], lists);
    await untilOver('DatabasePoolExhausted', 'ServiceNotReady');
  });

  it('report receivers that fail or pause their webhooks', async () => {
    const failing = 'http://127.0.0.1:1/closed';
    const pausing = await receive(429, { 'retry-after': '60' });
    const tenants: string[] = [];
    for (let n = 0; n < 6; n++) {
      const { orgId: id } = await createOrganization(partner.client);
      tenants.push(id);
      for (let i = 0; i < 25; i++) {
        const url = i % 5 === 0 ? failing : pausing;
        await createWebhook(partner.client, id, { url, events: ['alert.triggered'] });
      }
    }
    const publisher = new EventPublisher(fleet.handle);
    const events = eventsFor(
      tenants.map((id) => ({ orgId: id, webhookIds: [] })),
      15,
    );
    await publisher.publishAll(events);
    await expectAlerts(['WebhookCircuitBreakersOpen', 'WebhooksPausedByReceivers']);
  });

  it('report webhooks that cannot be opened', async () => {
    const { id } = await createWebhook(partner.client, orgId, { url: await receive(200) });
    await query(
      fleet.handle,
      `UPDATE webhook_dispatcher.webhook SET url_sealed = replace(url_sealed, 'dev-1', 'lost') WHERE id = $1`,
      [id],
    );
    process.kill(pidOf('webhook-dispatcher'), 'SIGKILL'); // it opens them when it starts
    await expectAlerts(['WebhooksUndecipherable']);
  });
});
