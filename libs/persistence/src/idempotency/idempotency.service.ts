import { Inject, Injectable } from '@nestjs/common';
import { currentContext, type IdempotentRequest } from '@rmm/service-kit';
import type { TenantTransaction } from '../tenants/tenant-database.service.js';
import {
  IdempotencyKeyInUse,
  IdempotencyKeyReused,
  IdempotentResponseNotStored,
  TooManyIdempotencyKeys,
} from './idempotency.errors.js';
import { IDEMPOTENCY_OPTIONS, type IdempotencyOptions } from './idempotency.options.js';
import { IdempotencyRepository } from './idempotency.repository.js';

/** Limits of stored responses; requests that run at the same time may exceed the limits of a caller by their own responses. */
export const IDEMPOTENCY_LIMITS = {
  responseBytes: 1_000_000,
  /** More than a partner principal can write within the 24 hours for which responses are stored by default. */
  responsesPerCaller: 3_000,
  bytesPerCaller: 20_000_000,
};

/** Turns a response into the text that is stored, and back; for responses that contain a key. */
export interface ResponseSeal {
  /** The response is erased after this time: a repeated request is then refused instead of carried out again. */
  seconds: number;
  seal(response: string): string;
  open(stored: string): string;
}

/**
 * Stores the response of a request with an idempotency key in the transaction of its effect, so that both are there or
 * neither is. A request that fails stores nothing, and its key is free again.
 * @see docs/reference/requests.md
 */
@Injectable()
export class Idempotency {
  private readonly running = new Set<string>();

  constructor(
    private readonly repository: IdempotencyRepository,
    @Inject(IDEMPOTENCY_OPTIONS) private readonly options: IdempotencyOptions,
  ) {}

  /**
   * Refuses a second request with the key while the first one runs in this process, also before its transaction begins.
   * Called by the interceptor of `@Idempotent()`. @returns a function that ends the request @throws IdempotencyKeyInUse
   */
  start({ id }: IdempotentRequest): () => void {
    if (this.running.has(id)) throw new IdempotencyKeyInUse();
    this.running.add(id);
    return () => this.running.delete(id);
  }

  /**
   * Runs `work` once per idempotency key of the current request, in the transaction of its effect; returns the stored
   * response when it has run before. Without a key it only runs `work`.
   * @param seal  for responses that contain a key or token
   * @throws IdempotencyKeyReused, IdempotencyKeyInUse, IdempotentResponseNotStored, TooManyIdempotencyKeys
   */
  async once<T>(tx: TenantTransaction, work: () => Promise<T>, seal?: ResponseSeal): Promise<T> {
    const request = currentContext()?.idempotency;
    if (!request) return work();
    if (!(await this.repository.tryLock(tx, request))) throw new IdempotencyKeyInUse();
    const stored = await this.findStored<T>(tx, request, seal);
    if (stored) return stored.response;
    await this.assertRoom(tx, request);
    const result = await work();
    const text = JSON.stringify(result ?? null);
    const response = seal ? seal.seal(text) : text;
    const isStored = Buffer.byteLength(response) <= IDEMPOTENCY_LIMITS.responseBytes;
    const ttlSeconds = this.options.ttlHours * 3_600;
    const kept = { response: isStored ? response : null, ttlSeconds, responseTtlSeconds: seal?.seconds };
    await this.repository.save(tx, request, kept);
    return result;
  }

  /**
   * Returns the stored response of the current request, for use cases that ask other services before their transaction: a
   * request that was carried out is not refused later. `once` decides under the lock of the key.
   * @returns null when nothing is stored, and without a key
   * @throws IdempotencyKeyReused, IdempotentResponseNotStored
   */
  async findReplay<T>(tx: TenantTransaction, seal?: ResponseSeal): Promise<{ response: T } | null> {
    const request = currentContext()?.idempotency;
    return request ? this.findStored<T>(tx, request, seal) : null;
  }

  private async findStored<T>(
    tx: TenantTransaction,
    request: IdempotentRequest,
    seal: ResponseSeal | undefined,
  ): Promise<{ response: T } | null> {
    const stored = await this.repository.find(tx, request);
    if (stored === null) return null;
    if (stored.bodyHash !== request.bodyHash) throw new IdempotencyKeyReused();
    if (stored.response === null) throw new IdempotentResponseNotStored();
    request.replayed = true;
    return { response: JSON.parse(seal ? seal.open(stored.response) : stored.response) as T };
  }

  private async assertRoom(tx: TenantTransaction, request: IdempotentRequest): Promise<void> {
    const { responses, bytes, freeAfterSeconds } = await this.repository.usage(tx, request);
    const { responsesPerCaller, bytesPerCaller } = IDEMPOTENCY_LIMITS;
    if (responses >= responsesPerCaller || bytes >= bytesPerCaller) throw new TooManyIdempotencyKeys(freeAfterSeconds);
  }
}
