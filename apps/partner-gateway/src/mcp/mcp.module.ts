import { Module } from '@nestjs/common';
import { McpDataService } from './data/mcp-data.service.js';
import { McpFallbackController } from './mcp-fallback.controller.js';
import { McpMethods } from './mcp-methods.service.js';
import { McpController } from './mcp.controller.js';
import { McpService } from './mcp.service.js';
import { PromptsService } from './prompts/prompts.service.js';
import { ResourcesService } from './resources/resources.service.js';
import { McpSessions } from './sessions/mcp-sessions.service.js';
import { ToolsService } from './tools/tools.service.js';

/** Routes match in the order of the controllers, so the fallback is last. */
@Module({
  controllers: [McpController, McpFallbackController],
  providers: [McpService, McpMethods, McpSessions, McpDataService, ToolsService, ResourcesService, PromptsService],
})
export class McpModule {}
