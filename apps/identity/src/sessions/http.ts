import type { AccessRequest } from '@rmm/access';
import { clientBucket, currentContext, type KitRequest, type KitResponse } from '@rmm/service-kit';

export type HttpRequest = AccessRequest;
export type HttpResponse = KitResponse;
/** For what only reads headers. */
export type WithHeaders = Pick<KitRequest, 'headers'>;

/** One header as a string; the first when it came twice. */
export function headerOf(request: WithHeaders, name: string): string | undefined {
  const value = request.headers[name];
  return Array.isArray(value) ? value[0] : value;
}

/** Answers with a token, key or code are never kept by a cache. */
export const noStore = (response: HttpResponse): unknown => response.setHeader('Cache-Control', 'no-store');

/** Whom limits per address count by: the client's address, else a fingerprint of it. */
export const clientOf = (request: HttpRequest): string =>
  clientBucket({ address: request.clientAddress ?? currentContext()?.ipAddress, headers: request.headers });
