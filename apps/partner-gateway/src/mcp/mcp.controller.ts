import {
  applyDecorators,
  Body,
  Controller,
  HttpCode,
  Post,
  Query,
  Req,
  Res,
  UseFilters,
  UseGuards,
} from '@nestjs/common';
import {
  ApiAcceptedResponse,
  ApiBody,
  ApiHeader,
  ApiOkResponse,
  ApiOperation,
  ApiQuery,
  ApiTags,
} from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { AcceptsApiKey, CurrentCaller, KeysOnly } from '@rmm/access';
import type { ApiKeyCaller } from '@rmm/access';
import { MCP_SESSION_HEADER, MCP_VERSION_HEADER, RPC_REQUEST, RPC_RESPONSE } from './dto/rpc-message.dto.js';
import { STREAM_HEADERS, toEventStream, wantsEventStream } from './event-stream.js';
import type { RpcResponse } from './json-rpc.mapper.js';
import { McpErrorFilter } from './mcp-error.filter.js';
import { McpRequestGuard } from './mcp-request.guard.js';
import { McpService, type McpMessage } from './mcp.service.js';

const Exchange = (summary: string, description: string) =>
  applyDecorators(
    HttpCode(200),
    ApiOperation({ summary, description: `${description} Errors are JSON-RPC.` }),
    ApiHeader(MCP_VERSION_HEADER),
    ApiBody(RPC_REQUEST),
    ApiOkResponse(RPC_RESPONSE),
    ApiAcceptedResponse({ description: 'The notification was accepted; the response is empty' }),
  );

/** MCP server for language models, authenticated by API key. @see docs/reference/mcp.md */
@ApiTags('MCP')
@Controller('mcp')
@UseFilters(McpErrorFilter)
@UseGuards(McpRequestGuard)
export class McpController {
  constructor(private readonly mcp: McpService) {}

  @Post('message')
  @AcceptsApiKey('ai:read')
  @KeysOnly()
  @Exchange('Send an MCP message', 'Needs no session; one that is named is checked.')
  @ApiQuery({
    name: 'sessionId',
    required: false,
    description: 'The session that `initialize` opened on `/mcp/sse`',
    schema: { type: 'string' },
  })
  message(
    @CurrentCaller() caller: ApiKeyCaller,
    @Body() body: unknown,
    @Query('sessionId') sessionId: unknown,
    @Req() request: Request,
    @Res({ passthrough: true }) response: Response,
  ): Promise<RpcResponse | string | undefined> {
    return this.exchange(caller, { path: 'message', body, headers: request.headers, sessionId }, request, response);
  }

  @Post('sse')
  @AcceptsApiKey('ai:read')
  @KeysOnly()
  @Exchange(
    'Send an MCP message over streamable HTTP',
    '`initialize` opens a session, which later calls name in `Mcp-Session-Id`; messages of 2026-07-28 need none. The response is an event stream where `Accept` prefers it.',
  )
  @ApiHeader(MCP_SESSION_HEADER)
  sse(
    @CurrentCaller() caller: ApiKeyCaller,
    @Body() body: unknown,
    @Req() request: Request,
    @Res({ passthrough: true }) response: Response,
  ): Promise<RpcResponse | string | undefined> {
    return this.exchange(caller, { path: 'sse', body, headers: request.headers }, request, response);
  }

  private async exchange(
    caller: ApiKeyCaller,
    message: McpMessage,
    request: Request,
    response: Response,
  ): Promise<RpcResponse | string | undefined> {
    const { status, body, sessionId } = await this.mcp.exchange(caller, message);
    response.statusCode = status;
    if (sessionId !== undefined) response.setHeader('Mcp-Session-Id', sessionId);
    if (body === undefined || !wantsEventStream(request)) return body;
    for (const [name, value] of Object.entries(STREAM_HEADERS)) response.setHeader(name, value);
    return toEventStream(body);
  }
}
