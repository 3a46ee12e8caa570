import { type ArgumentsHost, Catch } from '@nestjs/common';
import { type DomainError, ErrorFilter, type KitResponse, toDomainError } from '@rmm/service-kit';
import { toRpcErrorBody } from './rpc-error.mapper.js';

/** Names the credential. It is no OAuth challenge: clients would look for an authorization server. */
const CHALLENGE = 'ApiKey realm="rmm", header="X-API-Key"';

/** Adds the challenge to 401 under /mcp. */
@Catch()
export class McpChallengeFilter extends ErrorFilter {
  override catch(thrown: unknown, host: ArgumentsHost): void {
    const response = host.switchToHttp().getResponse<KitResponse>();
    if (!response.headersSent && toDomainError(thrown).status === 401)
      response.setHeader('WWW-Authenticate', CHALLENGE);
    super.catch(thrown, host);
  }
}

/** Writes errors as JSON-RPC objects, with the status and headers of every error. */
@Catch()
export class McpErrorFilter extends McpChallengeFilter {
  protected override toBody(error: DomainError, requestId: string): object {
    return toRpcErrorBody(error, requestId);
  }
}
