import { Module } from '@nestjs/common';
import { McpAudit } from './mcp-audit.js';
import { McpElsewhereController } from './mcp-elsewhere.controller.js';
import { McpController } from './mcp.controller.js';
import { McpService } from './mcp.service.js';

/** The order of the controllers is that of their routes: what is elsewhere comes last. */
@Module({ controllers: [McpController, McpElsewhereController], providers: [McpService, McpAudit] })
export class McpModule {}
