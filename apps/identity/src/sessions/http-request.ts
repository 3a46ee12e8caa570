import type { AccessRequest } from '@rmm/access';
import { clientBucket } from '@rmm/rate-limits';
import { currentContext, type KitRequest, type KitResponse } from '@rmm/service-kit';

export type HttpRequest = AccessRequest;
export type HttpResponse = KitResponse;
/** For functions that read headers only. */
export type WithHeaders = Pick<KitRequest, 'headers'>;

/** Returns one header as a string; the first when it was sent twice. */
export function getHeader(request: WithHeaders, name: string): string | undefined {
  const value = request.headers[name];
  return Array.isArray(value) ? value[0] : value;
}

/** Forbids caches to store the response; for responses with a token, key or code. */
export const setNoStore = (response: HttpResponse): unknown => response.setHeader('Cache-Control', 'no-store');

/** Returns a signal that is aborted when the response ends or its client disconnects, also before the call. */
export function closedSignal(response: HttpResponse): AbortSignal {
  const controller = new AbortController();
  if (response.destroyed) controller.abort();
  else response.once('close', () => controller.abort());
  return controller.signal;
}

/** Returns the key of limits per client: its address, else a fingerprint of its headers. */
export const clientKey = (request: HttpRequest): string =>
  clientBucket({ address: request.clientAddress ?? currentContext()?.ipAddress, headers: request.headers });
