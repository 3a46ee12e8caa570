import { Injectable } from '@nestjs/common';
import type { ApiKeyCaller } from '@rmm/access';
import { AuditTrail } from '@rmm/messaging';
import { Logger } from '@rmm/service-kit';
import { withoutDelay } from '../without-delay.js';
import type { RpcAnswer, RpcCall } from './json-rpc.js';

const MAX_METHOD = 100;

/** A row per call, by method: what a call carries may be anything, so it is not repeated. @see CONTRACT.md 4.10.10 */
@Injectable()
export class McpAudit {
  constructor(
    private readonly trail: AuditTrail,
    private readonly logger: Logger,
  ) {}

  request(caller: ApiKeyCaller, call: RpcCall, answer: RpcAnswer | null): Promise<void> {
    const method = call.method.slice(0, MAX_METHOD);
    const target = { type: 'mcp', name: method };
    const refusal = answer && 'error' in answer ? answer.error.message : undefined;
    const result = refusal === undefined ? 'success' : 'failure';
    const written = this.trail.recordDirect(caller, 'mcp.request', target, { method }, result, refusal);
    return withoutDelay(written, this.logger, 'An MCP call could not be audited');
  }
}
