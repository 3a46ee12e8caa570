import type { ServerResponse } from 'node:http';
import { applyDecorators, Body, Controller, HttpCode, Post, Res, UseFilters } from '@nestjs/common';
import { ApiAcceptedResponse, ApiBody, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { AcceptsApiKey, CurrentCaller, KeysOnly } from '@rmm/access';
import type { ApiKeyCaller } from '@rmm/access';
import { RPC_REQUEST, RPC_RESPONSE } from './dto/rpc-message.js';
import type { RpcAnswer } from './json-rpc.js';
import { McpErrorFilter } from './mcp-error.filter.js';
import { McpService } from './mcp.service.js';

const Exchange = (summary: string) =>
  applyDecorators(
    HttpCode(200),
    ApiOperation({ summary, description: 'No tools, resources or prompts are offered yet. Errors are JSON-RPC.' }),
    ApiBody(RPC_REQUEST),
    ApiOkResponse(RPC_RESPONSE),
    ApiAcceptedResponse({ description: 'A notification was taken in; the answer is empty' }),
  );

/** A surface of API keys for language models. @see SPEC.md 5.2, CONTRACT.md 4.10.10 */
@ApiTags('MCP')
@Controller('mcp')
@UseFilters(McpErrorFilter)
export class McpController {
  constructor(private readonly mcp: McpService) {}

  @Post('message')
  @AcceptsApiKey('ai:read')
  @KeysOnly()
  @Exchange('Send an MCP message')
  message(
    @CurrentCaller() caller: ApiKeyCaller,
    @Body() body: unknown,
    @Res({ passthrough: true }) response: ServerResponse,
  ): Promise<RpcAnswer | undefined> {
    return this.exchange(caller, body, response);
  }

  @Post('sse')
  @AcceptsApiKey('ai:read')
  @KeysOnly()
  @Exchange('Send an MCP message over streamable HTTP, answered as JSON')
  sse(
    @CurrentCaller() caller: ApiKeyCaller,
    @Body() body: unknown,
    @Res({ passthrough: true }) response: ServerResponse,
  ): Promise<RpcAnswer | undefined> {
    return this.exchange(caller, body, response);
  }

  private async exchange(caller: ApiKeyCaller, body: unknown, response: ServerResponse) {
    const answer = await this.mcp.exchange(caller, body);
    if (answer === null) response.statusCode = 202;
    return answer ?? undefined;
  }
}
