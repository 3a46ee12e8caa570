import type { Request } from 'express';
import type { RpcResponse } from './json-rpc.mapper.js';

const STREAM_TYPE = 'text/event-stream';

/** The headers of an event stream; proxies must not hold its events back. */
export const STREAM_HEADERS = { 'Content-Type': STREAM_TYPE, 'Cache-Control': 'no-cache', 'X-Accel-Buffering': 'no' };

/** Returns true for a call of /mcp/sse whose `Accept` prefers an event stream. Clients that list both first get JSON. */
export function wantsEventStream(request: Pick<Request, 'path' | 'accepts'>): boolean {
  return /\/sse\/?$/i.test(request.path) && request.accepts(['application/json', STREAM_TYPE]) === STREAM_TYPE;
}

/** Returns the stream of a response: one event, after which it ends. */
export const toEventStream = (response: RpcResponse): string => `event: message\ndata: ${JSON.stringify(response)}\n\n`;
