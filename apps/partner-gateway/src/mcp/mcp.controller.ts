import { applyDecorators, Body, Controller, HttpCode, Post, Res, UseFilters } from '@nestjs/common';
import { ApiAcceptedResponse, ApiBody, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import type { ServerResponse } from 'node:http';
import { AcceptsApiKey, CurrentCaller, KeysOnly } from '@rmm/access';
import type { ApiKeyCaller } from '@rmm/access';
import { RPC_REQUEST, RPC_RESPONSE } from './dto/rpc-message.dto.js';
import type { RpcResponse } from './json-rpc.mapper.js';
import { McpErrorFilter } from './mcp-error.filter.js';
import { McpService } from './mcp.service.js';

const Exchange = (summary: string) =>
  applyDecorators(
    HttpCode(200),
    ApiOperation({ summary, description: 'No tools, resources or prompts are offered yet. Errors are JSON-RPC.' }),
    ApiBody(RPC_REQUEST),
    ApiOkResponse(RPC_RESPONSE),
    ApiAcceptedResponse({ description: 'The notification was accepted; the response is empty' }),
  );

/** MCP server for language models, authenticated by API key. @see docs/reference/partner-interface.md */
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
  ): Promise<RpcResponse | undefined> {
    return this.exchange(caller, body, response);
  }

  @Post('sse')
  @AcceptsApiKey('ai:read')
  @KeysOnly()
  @Exchange('Send an MCP message over streamable HTTP and get a JSON response')
  sse(
    @CurrentCaller() caller: ApiKeyCaller,
    @Body() body: unknown,
    @Res({ passthrough: true }) response: ServerResponse,
  ): Promise<RpcResponse | undefined> {
    return this.exchange(caller, body, response);
  }

  private async exchange(caller: ApiKeyCaller, body: unknown, response: ServerResponse) {
    const result = await this.mcp.exchange(caller, body);
    if (result === null) response.statusCode = 202;
    return result ?? undefined;
  }
}
