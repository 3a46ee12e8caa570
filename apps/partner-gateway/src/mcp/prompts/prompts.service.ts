import { Injectable } from '@nestjs/common';
import { RPC_CODES } from '../json-rpc.mapper.js';
import { RpcMethodFailed } from '../mcp.errors.js';
import { PROMPTS } from './prompt-catalog.js';

/** Lists and writes prompts. They contain no data of a tenant: every key with access to MCP may read them. */
@Injectable()
export class PromptsService {
  list(): object[] {
    return PROMPTS.map(({ name, title, description, arguments: args }) => {
      return { name, title, description, arguments: args };
    });
  }

  /** @throws RpcMethodFailed  -32602 for an unknown prompt and for arguments that it does not accept */
  get({ name, arguments: args = {} }: Record<string, unknown>): object {
    const prompt = PROMPTS.find((each) => each.name === name);
    if (prompt === undefined) {
      throw new RpcMethodFailed(RPC_CODES.invalidParameters, 'Unknown prompt', { data: { code: 'unknown_prompt' } });
    }
    const { success, data } = prompt.input.safeParse(args);
    if (!success) {
      const accepted = prompt.arguments.map((argument) => argument.name).join(', ') || 'none';
      const message = `Invalid arguments of the prompt; it accepts: ${accepted}`;
      throw new RpcMethodFailed(RPC_CODES.invalidParameters, message, { data: { code: 'validation_failed' } });
    }
    const content = { type: 'text', text: prompt.write(data) };
    return { description: prompt.description, messages: [{ role: 'user', content }] };
  }
}
