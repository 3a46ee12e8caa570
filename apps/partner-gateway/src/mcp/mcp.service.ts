import { Injectable } from '@nestjs/common';
import type { ApiKeyCaller } from '@rmm/access';
import { errorOf, readCall, resultOf, type RpcAnswer, type RpcCall, RpcRefusal } from './json-rpc.js';
import { McpAudit } from './mcp-audit.js';
import { callMethod } from './mcp-methods.js';

@Injectable()
export class McpService {
  constructor(private readonly audit: McpAudit) {}

  /**
   * @returns null for a notification, whatever it says
   * @throws BadEnvelope  400
   */
  async exchange(caller: ApiKeyCaller, body: unknown): Promise<RpcAnswer | null> {
    const call = readCall(body);
    const answer = answerTo(call);
    await this.audit.request(caller, call, answer);
    return answer;
  }
}

function answerTo({ id, method }: RpcCall): RpcAnswer | null {
  if (id === null) return null;
  try {
    return resultOf(id, callMethod(method));
  } catch (error) {
    if (error instanceof RpcRefusal) return errorOf(id, { code: error.code, message: error.message });
    throw error;
  }
}
