import { Inject, Injectable } from '@nestjs/common';
import type { z } from 'zod';
import type { ApiKeyCaller } from '@rmm/access';
import type { AuditResult } from '@rmm/contracts';
import { AuditTrail } from '@rmm/messaging';
import { Logger } from '@rmm/service-kit';
import { PARTNER_GATEWAY_CONFIG, type PartnerGatewayConfig } from '../../config.js';
import { waitForAudit } from '../../wait-for-audit.js';
import { McpDataService } from '../data/mcp-data.service.js';
import { RPC_CODES } from '../json-rpc.mapper.js';
import { RpcMethodFailed } from '../mcp.errors.js';
import { toMethodFailure } from '../method-failure.mapper.js';
import { isKnownTo, missingScopes } from './tool-access.policy.js';
import { TOOLS } from './tool-catalog.js';
import type { Tool, ToolDescription } from './tool.js';

/** Problems that a refusal names, and characters of an argument's name in it. */
const MAX_PROBLEMS = 20;
const MAX_ARGUMENT_NAME = 100;

/** The result of `tools/call`: the same data structured, and as text for clients that read only text. */
export interface ToolResult {
  content: { type: 'text'; text: string }[];
  structuredContent: Record<string, unknown>;
  isError: false;
}

/** Lists and calls tools. @see docs/reference/mcp.md */
@Injectable()
export class ToolsService {
  private readonly isProduction: boolean;

  constructor(
    private readonly data: McpDataService,
    private readonly audit: AuditTrail,
    private readonly logger: Logger,
    @Inject(PARTNER_GATEWAY_CONFIG) { isProduction }: Pick<PartnerGatewayConfig, 'isProduction'>,
  ) {
    this.isProduction = isProduction;
  }

  /** Lists the tools that the key may call. */
  list(caller: ApiKeyCaller): ToolDescription[] {
    return TOOLS.filter((tool) => isKnownTo(caller, tool) && this.missingScopes(caller, tool) === null).map(
      ({ name, title, description, inputSchema, outputSchema, annotations }) => {
        return { name, title, description, inputSchema, outputSchema, annotations };
      },
    );
  }

  /**
   * Calls a tool. Calls of tools that change something are audited, without their arguments.
   * @throws RpcMethodFailed  -32602 for an unknown tool and for arguments that it does not accept, -32603 without the
   *   scope, -32010 for a tool that a user must approve; UnavailableError
   */
  async call(caller: ApiKeyCaller, { name, arguments: args = {} }: Record<string, unknown>): Promise<ToolResult> {
    const tool = TOOLS.find((each) => each.name === name);
    if (tool === undefined || !isKnownTo(caller, tool)) {
      throw new RpcMethodFailed(RPC_CODES.invalidParameters, 'Unknown tool', { data: { code: 'unknown_tool' } });
    }
    try {
      const structuredContent = await this.run(caller, tool, args);
      await this.record(caller, tool, 'success');
      return {
        content: [{ type: 'text', text: JSON.stringify(structuredContent) }],
        structuredContent,
        isError: false,
      };
    } catch (error) {
      const failure = toMethodFailure(error);
      const code = failure instanceof RpcMethodFailed ? failure.reason : 'unavailable';
      const isDenied = code === 'approval_required' || code === 'api_key_scope_required';
      await this.record(caller, tool, isDenied ? 'denied' : 'failure', code);
      throw failure;
    }
  }

  private async run(caller: ApiKeyCaller, tool: Tool, args: unknown): Promise<Record<string, unknown>> {
    const required = this.missingScopes(caller, tool);
    if (required !== null) {
      const data = { code: 'api_key_scope_required', required };
      throw new RpcMethodFailed(RPC_CODES.internal, `This tool needs the scope ${required.join(' or ')}`, { data });
    }
    if (tool.tier === 3) {
      const message = 'A user must approve this: run the script in the console';
      throw new RpcMethodFailed(RPC_CODES.approvalRequired, message, { data: { code: 'approval_required' } });
    }
    return tool.run(this.data, caller, readArguments(tool.input, args));
  }

  private missingScopes(caller: ApiKeyCaller, { tier }: Tool) {
    return missingScopes(caller, tier, this.isProduction);
  }

  private async record(caller: ApiKeyCaller, tool: Tool, result: AuditResult, errorCode?: string): Promise<void> {
    const { name, tier } = tool;
    if (tier === 1) return;
    const details = { tool: name, tier };
    const written = this.audit.recordDirect(caller, 'mcp.tool', { type: 'mcp', name }, details, result, errorCode);
    await waitForAudit(written, this.logger);
  }
}

/** @throws RpcMethodFailed  naming every argument that the tool does not accept */
function readArguments(input: z.ZodType<Record<string, unknown>>, args: unknown): Record<string, unknown> {
  const { success, data, error } = input.safeParse(args);
  if (success) return data;
  const problems = error.issues.flatMap((issue): [string, string][] => {
    const isUnknown = issue.code === 'unrecognized_keys';
    const paths = isUnknown ? issue.keys.map((key) => [...issue.path, key]) : [issue.path];
    const problem = isUnknown ? 'unknown argument' : issue.message;
    return paths.map((path) => [path.join('.').slice(0, MAX_ARGUMENT_NAME) || 'arguments', problem]);
  });
  const shown = problems.slice(0, MAX_PROBLEMS);
  const message = `Invalid arguments: ${shown.map(([name, problem]) => `${name}: ${problem}`).join('; ')}`;
  // `fromEntries` defines properties instead of assigning them, so no name has a special meaning.
  const fieldErrors = Object.fromEntries(shown.map(([name, problem]) => [name, [problem]]));
  throw new RpcMethodFailed(RPC_CODES.invalidParameters, message, { data: { code: 'validation_failed', fieldErrors } });
}
