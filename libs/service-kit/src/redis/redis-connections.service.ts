import { Inject, Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { Cluster, Redis, type RedisOptions } from 'ioredis';
import { once } from 'node:events';
import type { FleetConfig } from '@rmm/config';
import { DomainError, UnavailableError } from '@rmm/errors';
import { HealthRegistry } from '../health/health-registry.service.js';
import { Logger } from '../logging/logger.service.js';
import { FLEET_CONFIG } from '../tokens.js';

/** Commands without a response within this time fail; in milliseconds. */
const COMMAND_TIMEOUT_MS = 2_000;
const CONNECT_TIMEOUT_MS = 2_000;
const DISCONNECT_TIMEOUT_MS = 100;
/** Pause between two checks of the shared connection, in milliseconds. */
const CHECK_INTERVAL_MS = 2_000;
/** Failed checks after which the shared connection is opened again. */
const MAX_FAILED_CHECKS = 2;
/** A duplicate without a response for this time is opened again. BullMQ's blocking commands take 10 s at most. */
const SILENCE_TIMEOUT_MS = 15_000;
/** A server that was replaced is noticed after this time, also when its connections stay open; in milliseconds. */
const CLUSTER_REFRESH_MS = 5_000;
/** Attempts of a command in a cluster, 100 ms apart: within the time of one command. */
const MAX_REDIRECTIONS = 10;

/** A connection to one server, or one to each server of a cluster. */
export type RedisClient = Redis | Cluster;

/**
 * The Redis connections of this process: a shared one that fails fast, and duplicates for blocking commands. A server that is
 * replaced may leave connections open that never respond, so each connection without responses is opened again.
 */
@Injectable()
export class RedisConnections implements OnModuleInit, OnApplicationShutdown {
  private sharedConnection?: RedisClient;
  private checks?: NodeJS.Timeout;
  private failedChecks = 0;
  private readonly opened = new Set<RedisClient>();

  constructor(
    @Inject(FLEET_CONFIG) private readonly config: Pick<FleetConfig, 'redisUrl' | 'redisClusterNodes'>,
    health: HealthRegistry,
    private readonly logger: Logger,
  ) {
    health.register('redis', async () => {
      await this.shared.ping();
    });
  }

  /** Connects on first use. While Redis is away commands fail at once instead of queueing. */
  get shared(): RedisClient {
    this.sharedConnection ??= this.open({
      enableOfflineQueue: false,
      maxRetriesPerRequest: 0,
      commandTimeout: COMMAND_TIMEOUT_MS,
    });
    return this.sharedConnection;
  }

  /** Opens a connection that waits for Redis, as BullMQ's workers and blocking commands need it. */
  duplicate(options: RedisOptions = {}): RedisClient {
    return this.open({ maxRetriesPerRequest: null, socketTimeout: SILENCE_TIMEOUT_MS, ...options });
  }

  /** Waits a moment for the shared connection, so that the first request finds it; a start does not fail by it. */
  async onModuleInit(): Promise<void> {
    this.checks = setInterval(() => void this.checkShared(), CHECK_INTERVAL_MS).unref();
    if (this.shared.status === 'ready') return;
    await once(this.shared, 'ready', { signal: AbortSignal.timeout(CONNECT_TIMEOUT_MS) }).catch(() => undefined);
  }

  /**
   * Runs commands on the shared connection.
   * @throws UnavailableError  when Redis is away, refuses or does not respond
   */
  async use<T>(work: (redis: RedisClient) => Promise<T>): Promise<T> {
    try {
      return await work(this.shared);
    } catch (cause) {
      if (cause instanceof DomainError) throw cause;
      throw new UnavailableError(undefined, { cause });
    }
  }

  async onApplicationShutdown(): Promise<void> {
    clearInterval(this.checks);
    const quit = async (redis: RedisClient) => {
      if (redis.status === 'ready') await redis.quit().catch(() => undefined);
      redis.disconnect();
    };
    await Promise.all([...this.opened].map(quit));
    this.opened.clear();
  }

  private async checkShared(): Promise<void> {
    const { shared } = this;
    if (shared.status !== 'ready') return;
    try {
      await shared.ping();
      this.failedChecks = 0;
    } catch (err) {
      if (++this.failedChecks < MAX_FAILED_CHECKS) return;
      this.failedChecks = 0;
      this.logger.warn({ err }, 'Redis does not respond; connecting again');
      shared.disconnect(true);
    }
  }

  private open(options: RedisOptions): RedisClient {
    const redis = this.connect({
      connectTimeout: CONNECT_TIMEOUT_MS,
      disconnectTimeout: DISCONNECT_TIMEOUT_MS,
      ...options,
    });
    let up = true;
    redis.on('error', (err) => {
      if (up) this.logger.warn({ err }, 'Redis connection lost');
      up = false;
    });
    redis.on('ready', () => {
      if (!up) this.logger.info('Redis connection is back');
      up = true;
    });
    redis.on('node error', (err: Error, server: string) => {
      this.logger.warn({ err, server }, 'A server of the Redis cluster cannot be reached');
    });
    redis.on('end', () => this.opened.delete(redis));
    this.opened.add(redis);
    return redis;
  }

  private connect({ enableOfflineQueue, ...options }: RedisOptions): RedisClient {
    const { redisUrl, redisClusterNodes } = this.config;
    if (!redisClusterNodes.length) {
      return new Redis(redisUrl, { ...options, enableOfflineQueue, retryStrategy: reconnectDelay });
    }
    const { host, protocol, username, password } = new URL(redisUrl);
    const login = { username: decodeURIComponent(username) || undefined, password: decodeURIComponent(password) };
    return new Cluster([host, ...redisClusterNodes], {
      enableOfflineQueue,
      clusterRetryStrategy: reconnectDelay,
      maxRedirections: MAX_REDIRECTIONS,
      slotsRefreshInterval: CLUSTER_REFRESH_MS,
      enableReadyCheck: false, // a failed check leaves `connect()` pending for ever (ioredis 5.11), for which BullMQ waits
      dnsLookup: (address, found) => found(null, address), // certificates are for names
      redisOptions: { ...options, ...login, ...(protocol === 'rediss:' && { tls: {} }) },
    });
  }
}

const reconnectDelay = (attempt: number): number => Math.min(50 * 2 ** Math.min(attempt, 6), 2_000);
