import { type CanActivate, type ExecutionContext, Inject, Injectable } from '@nestjs/common';
import type { Request } from 'express';
import type { AccessRequest } from '@rmm/access';
import { RateLimits } from '@rmm/rate-limits';
import { PARTNER_GATEWAY_CONFIG, type PartnerGatewayConfig } from '../config.js';
import { mcpLimits } from '../limits.js';
import { wantsEventStream } from './event-stream.js';
import { HostNotAllowed, OriginNotAllowed } from './mcp.errors.js';

const LOCAL_ADDRESS = /^(?:::ffff:)?127\.|^::1$/;
const LOCAL_HOST = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

type McpRequest = Request & AccessRequest;

/**
 * Checks where an authenticated message comes from, then counts it. A web page in a browser on the
 * machine of a local server must not reach that server under a name of its own (DNS rebinding).
 */
@Injectable()
export class McpRequestGuard implements CanActivate {
  private readonly origins: ReadonlySet<string>;
  private readonly hosts: ReadonlySet<string>;
  private readonly windows: ReturnType<typeof mcpLimits>;

  constructor(
    @Inject(PARTNER_GATEWAY_CONFIG)
    { corsOrigins, publicApiUrl, mcp }: Pick<PartnerGatewayConfig, 'corsOrigins' | 'publicApiUrl' | 'mcp'>,
    private readonly limits: RateLimits,
  ) {
    this.origins = new Set([...corsOrigins, new URL(publicApiUrl).origin]);
    this.hosts = new Set([...this.origins].map((origin) => new URL(origin).hostname));
    this.windows = mcpLimits(mcp);
  }

  /** @throws OriginNotAllowed, HostNotAllowed 403, RateLimitedError 429, UnavailableError 503 */
  async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = context.switchToHttp().getRequest<McpRequest>();
    const { origin } = request.headers;
    if (origin !== undefined && !this.origins.has(origin)) throw new OriginNotAllowed();
    if (LOCAL_ADDRESS.test(request.socket.localAddress ?? '') && !this.isKnownHost(request.headers.host)) {
      throw new HostNotAllowed();
    }
    const keyId = request.caller?.actor.id ?? '';
    await this.limits.hit(this.windows.message, keyId);
    if (wantsEventStream(request)) await this.limits.hit(this.windows.stream, keyId);
    return true;
  }

  private isKnownHost(host = ''): boolean {
    const url = `http://${host}`;
    if (!URL.canParse(url)) return false;
    const { hostname } = new URL(url);
    return LOCAL_HOST.test(hostname) || this.hosts.has(hostname);
  }
}
