import { z } from 'zod';
import type { ApiKeyCaller } from '@rmm/access';
import type { McpDataService } from '../data/mcp-data.service.js';

/**
 * Effect of a tool: 1 reads, 2 changes records of a device, 3 acts on a device.
 * @see docs/reference/mcp.md
 */
export type ToolTier = 1 | 2 | 3;

/** A tool as `tools/list` shows it. */
export interface ToolDescription {
  name: string;
  title: string;
  description: string;
  inputSchema: object;
  outputSchema: object;
  annotations: { readOnlyHint: boolean; destructiveHint: boolean; idempotentHint: boolean };
}

/** A tool of the MCP endpoint. */
export interface Tool extends ToolDescription {
  tier: ToolTier;
  /** Shows data of the whole organization: hidden from keys that are restricted to sites or device groups. */
  isOrganizationWide: boolean;
  input: z.ZodType<Record<string, unknown>>;
  /** Calls the tool with arguments that its input schema has read. */
  run: (data: McpDataService, caller: ApiKeyCaller, args: Record<string, unknown>) => Promise<Record<string, unknown>>;
}

interface ToolDeclaration<Input extends z.ZodObject, Output extends z.ZodObject> {
  name: string;
  title: string;
  description: string;
  tier: ToolTier;
  isOrganizationWide?: boolean;
  input: Input;
  output: Output;
  run: (data: McpDataService, caller: ApiKeyCaller, args: z.output<Input>) => Promise<z.input<Output>>;
}

/** Declares a tool. Its result is read with the output schema, so that nothing leaves that the schema does not name. */
export function declareTool<Input extends z.ZodObject, Output extends z.ZodObject>({
  run,
  ...declared
}: ToolDeclaration<Input, Output>): Tool {
  const { name, title, description, tier, isOrganizationWide = false, input, output } = declared;
  return {
    ...{ name, title, description, tier, isOrganizationWide, input },
    inputSchema: z.toJSONSchema(input, { io: 'input' }),
    outputSchema: z.toJSONSchema(output, { io: 'output' }),
    annotations: {
      readOnlyHint: tier === 1,
      destructiveHint: tier !== 1,
      idempotentHint: tier !== 3,
    },
    run: async (data, caller, args) => output.parse(await run(data, caller, args as z.output<Input>)),
  };
}
