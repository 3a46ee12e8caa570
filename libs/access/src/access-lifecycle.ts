import type { BeforeApplicationShutdown, OnApplicationBootstrap, OnModuleInit } from '@nestjs/common';
import type { ModulesContainer } from '@nestjs/core';
import type { NatsLink } from '@rmm/messaging';
import type { Logger, OpenApiDocuments } from '@rmm/service-kit';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FallbackAudit } from './calls/fallback-audit.js';
import type { Denials } from './denials/denials.js';
import type { OrganizationDirectory } from './directory/organization-directory.js';
import { describeRouteAccess } from './route-access/describe-route-access.js';
import { routeAccessProblems, routesOf } from './route-access/route-access-check.js';
import type { AccessFeeds } from './feed/access-feeds.js';
import type { HeartbeatPublisher } from './feed/heartbeat-publisher.js';
import type { KeyRecords } from './keys/key-records.js';
import type { KeyUsage } from './keys/key-usage.js';
import type { AccessSnapshots } from './snapshots/access-snapshots.js';
import type { Sources } from './sources.js';

const SWEEP_INTERVAL_MS = 10_000;
const REBUILD_RETRY_MS = 5_000;

export interface AccessParts {
  modules: ModulesContainer;
  link: NatsLink;
  feeds: AccessFeeds;
  snapshots: AccessSnapshots;
  records: KeyRecords;
  usage: KeyUsage;
  denials: Denials;
  fallback: FallbackAudit;
  /** Absent in a service that knows no organizations. */
  directory?: OrganizationDirectory;
  /** Present in identity and in credentials. */
  heart?: HeartbeatPublisher;
  sources: Sources;
  canVerifyTokens: () => boolean;
  openApi: OpenApiDocuments;
  logger: Logger;
}

/** The start is refused: some routes do not say who may enter. */
export class RouteAccessMissing extends Error {
  constructor(problems: readonly string[]) {
    super(
      `Every route needs exactly one door (@RequirePermission, @SignedIn, @Public, @AcceptsApiKey, @PartnerKey, ` +
        `@AgentToken):\n${problems.map((problem) => `  - ${problem}`).join('\n')}`,
    );
  }
}

/** Checks the doors before anything is served, then listens, beats and counts until the service stops. */
export class AccessLifecycle implements OnModuleInit, OnApplicationBootstrap, BeforeApplicationShutdown {
  private sweeper?: NodeJS.Timeout;
  private readonly stopping = new AbortController();

  constructor(private readonly parts: AccessParts) {}

  /** @throws RouteAccessMissing  naming every route with none, or with two */
  onModuleInit(): void {
    const routes = routesOf(this.parts.modules);
    const kinds = new Set(routes.flatMap(({ doors }) => doors.map(({ kind }) => kind)));
    const problems = routeAccessProblems(routes);
    if ((kinds.has('permission') || kinds.has('signed-in')) && !this.parts.canVerifyTokens()) {
      problems.push('Routes for users exist, but there are no public keys: give jwksUrl or provide VERIFICATION_KEYS');
    }
    if (kinds.has('agent-token') && !this.parts.sources.hasAgents()) {
      problems.push('Routes for agents exist, but no AGENT_SOURCE is provided');
    }
    if (problems.length > 0) throw new RouteAccessMissing(problems);
    this.parts.openApi.describeOperations(describeRouteAccess);
  }

  onApplicationBootstrap(): void {
    const { feeds, snapshots, records, directory, denials, usage, heart, link } = this.parts;
    feeds.onGap(() => snapshots.flush());
    feeds.onGap(() => records.flush());
    feeds.hear('access.changed', (change) => {
      snapshots.invalidate(change);
      records.accessChanged(change);
      directory?.suspect(change.orgIds ?? []);
    });
    feeds.hear('credential.changed', (change) => records.credentialsChanged(change));
    feeds.start(link);
    heart?.start();
    if (heart) link.onReconnect(() => heart.skip());
    usage.start();
    this.sweeper = setInterval(() => denials.sweep(), SWEEP_INTERVAL_MS).unref();
    if (directory) void this.fill(directory);
  }

  /** Requests are finished by now, while NATS and the database are still there. */
  async beforeApplicationShutdown(): Promise<void> {
    this.stopping.abort();
    clearInterval(this.sweeper);
    this.parts.heart?.stop();
    this.parts.feeds.stop();
    const { usage, denials, fallback } = this.parts;
    await Promise.all([usage.stop(), denials.drain(), fallback.drain()]);
  }

  /** Until it succeeds: look-ups read through meanwhile, so nobody waits for it. */
  private async fill(directory: OrganizationDirectory): Promise<void> {
    const { signal } = this.stopping;
    while (!signal.aborted) {
      try {
        return await directory.rebuildIfEmpty();
      } catch (err) {
        this.parts.logger.debug({ err }, 'The organization directory cannot be filled yet');
        await sleep(REBUILD_RETRY_MS, undefined, { ref: false, signal }).catch(() => undefined);
      }
    }
  }
}
