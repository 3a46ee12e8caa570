import { Module } from '@nestjs/common';
import { McpFallbackController } from './mcp-fallback.controller.js';
import { McpController } from './mcp.controller.js';
import { McpService } from './mcp.service.js';

/** Routes match in the order of the controllers, so the fallback is last. */
@Module({ controllers: [McpController, McpFallbackController], providers: [McpService] })
export class McpModule {}
