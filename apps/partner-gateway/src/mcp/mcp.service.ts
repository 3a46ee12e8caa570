import { Injectable } from '@nestjs/common';
import type { IncomingHttpHeaders } from 'node:http';
import type { ApiKeyCaller } from '@rmm/access';
import { AuditTrail } from '@rmm/messaging';
import { DomainError, Logger } from '@rmm/service-kit';
import { waitForAudit } from '../wait-for-audit.js';
import { readCall, toErrorResponse, toResultResponse, type RpcCall, type RpcResponse } from './json-rpc.mapper.js';
import { McpMethods } from './mcp-methods.service.js';
import { RpcMethodFailed } from './mcp.errors.js';
import { checkStateless, type Generation, generationOf } from './protocol/protocol-version.js';
import { McpSessions } from './sessions/mcp-sessions.service.js';

const MAX_METHOD = 100;
const INITIALIZE = 'initialize';

/** A message as it arrived at one of the two paths. */
export interface McpMessage {
  path: 'message' | 'sse';
  body: unknown;
  headers: IncomingHttpHeaders;
  /** Query parameter of /mcp/message. */
  sessionId?: unknown;
}

export interface McpReply {
  status: number;
  /** Absent for a notification. */
  body?: RpcResponse;
  /** The session that `initialize` opened. */
  sessionId?: string;
}

/** Handles JSON-RPC messages of both generations of MCP. @see docs/reference/mcp.md */
@Injectable()
export class McpService {
  constructor(
    private readonly methods: McpMethods,
    private readonly sessions: McpSessions,
    private readonly audit: AuditTrail,
    private readonly logger: Logger,
  ) {}

  /**
   * Handles one message and records it in the audit log.
   * @throws InvalidRpcEnvelope, McpSessionRequired 400, McpSessionNotFound 404, McpSessionOfAnotherKey 403;
   *   RateLimitedError for one session too many; UnavailableError
   */
  async exchange(caller: ApiKeyCaller, message: McpMessage): Promise<McpReply> {
    const call = readCall(message.body);
    try {
      const reply = await this.handle(caller, call, message);
      await this.recordCall(caller, call);
      return reply;
    } catch (error) {
      await this.recordCall(caller, call, codeOf(error));
      if (!(error instanceof RpcMethodFailed)) throw error;
      const { code, message: text, data, status } = error;
      return { status, body: toErrorResponse(call.id, { code, message: text, ...(data && { data }) }) };
    }
  }

  private async handle(caller: ApiKeyCaller, call: RpcCall, message: McpMessage): Promise<McpReply> {
    const generation = generationOf(message.headers, call);
    if (generation === 'stateless') checkStateless(message.headers, call);
    else await this.useSession(caller, call, message);
    if (call.id === null) return { status: 202 };
    const result = await this.methods.call(caller, call, generation);
    const opens = message.path === 'sse' && isHandshake(call, generation);
    const sessionId = opens ? await this.sessions.open(caller.keyId) : undefined;
    return { status: 200, body: toResultResponse(call.id, result), sessionId };
  }

  /** A session is needed on /mcp/sse; on /mcp/message it is checked when it is named. */
  private async useSession({ keyId }: ApiKeyCaller, call: RpcCall, message: McpMessage): Promise<void> {
    if (call.method === INITIALIZE) return;
    if (message.path === 'sse') return this.sessions.use(keyId, message.headers['mcp-session-id']);
    if (message.sessionId !== undefined) await this.sessions.use(keyId, message.sessionId);
  }

  /** Records the method only: the rest of a call may contain anything. */
  private recordCall(caller: ApiKeyCaller, call: RpcCall, failure?: string): Promise<void> {
    const method = call.method.slice(0, MAX_METHOD);
    const result = failure === undefined ? 'success' : 'failure';
    const resource = { type: 'mcp', name: method };
    const written = this.audit.recordDirect(caller, 'mcp.request', resource, { method }, result, failure);
    return waitForAudit(written, this.logger);
  }
}

const isHandshake = ({ method }: RpcCall, generation: Generation): boolean =>
  generation === 'handshake' && method === INITIALIZE;

/** Returns a code for the audit log, which has no text that a caller wrote. */
function codeOf(error: unknown): string {
  if (error instanceof RpcMethodFailed) return error.reason;
  return error instanceof DomainError ? error.code : 'internal_error';
}
