import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { ExpressAdapter } from '@nestjs/platform-express';
import { BadRequestError } from '../errors/errors.js';
import { toErrorBody } from '../errors/error-body.js';
import type { KitRequest, KitResponse } from '../http/kit-request.js';

type Listener = (request: KitRequest, response: KitResponse) => void;
/** Express; `done` hears of what no route took. */
type ExpressHandler = (request: KitRequest, response: KitResponse, done?: (error?: unknown) => void) => void;

/** Idle connections outlive those of the proxies before us, so that no request meets a closing one; in milliseconds. */
const KEEP_ALIVE_MS = 75_000;
const HEADERS_TIMEOUT_MS = 20_000;
const IDLE_SWEEP_MS = 20;

/**
 * Express behind our own listener: the pipeline runs before Express, and plain JSON answers leave without its help.
 * Nothing else in the code knows which HTTP framework this is.
 */
export class KitAdapter extends ExpressAdapter {
  /** What the server calls; Express itself until the application is configured. */
  listener: Listener;

  constructor() {
    super();
    this.listener = this.express;
    this.disable('x-powered-by');
    this.set('etag', false);
    this.set('query parser', 'simple');
  }

  /** Express, as a listener. */
  get express(): ExpressHandler {
    return this.getInstance<ExpressHandler>();
  }

  override initHttpServer(): void {
    const server = createServer((request, response) => this.listener(request as KitRequest, response));
    server.keepAliveTimeout = KEEP_ALIVE_MS;
    server.headersTimeout = HEADERS_TIMEOUT_MS;
    server.on('clientError', (_error, socket) => {
      if (!socket.writable) {
        socket.destroy();
        return;
      }
      const text = JSON.stringify(toErrorBody(new BadRequestError(), 'none'));
      socket.end(
        `HTTP/1.1 400 Bad Request\r\nContent-Type: application/json; charset=utf-8\r\nConnection: close\r\nContent-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
      );
    });
    this.httpServer = server;
  }

  /** Waits for answers that are under way; connections kept alive for a next request end as soon as they are idle. */
  override async close(): Promise<void> {
    const server = this.httpServer as Server;
    const sweeper = setInterval(() => server.closeIdleConnections(), IDLE_SWEEP_MS);
    await new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeIdleConnections();
    });
    clearInterval(sweeper);
    server.closeAllConnections();
  }

  /** Objects as JSON without Express's detours; everything else, and nothing after a timeout has answered. */
  override reply(response: ServerResponse, body: unknown, statusCode?: number): unknown {
    if (response.headersSent) return undefined;
    const status = statusCode ?? response.statusCode;
    if (!isPlainJson(body) || status === 204 || status === 304 || response.hasHeader('Content-Type')) {
      return super.reply(response, body, statusCode) as unknown;
    }
    const text = JSON.stringify(body);
    response.statusCode = status;
    response.setHeader('Content-Type', 'application/json; charset=utf-8');
    response.setHeader('Content-Length', Buffer.byteLength(text));
    return response.end(text);
  }

  override isHeadersSent(response: ServerResponse & { req?: IncomingMessage }): boolean {
    return response.headersSent;
  }
}

function isPlainJson(body: unknown): boolean {
  if (typeof body !== 'object' || body === null) return false;
  if (Array.isArray(body)) return true;
  const prototype: unknown = Object.getPrototypeOf(body);
  return (
    prototype === Object.prototype ||
    prototype === null ||
    !('getStream' in body || body instanceof Error || Buffer.isBuffer(body))
  );
}
