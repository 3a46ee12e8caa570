import { z } from 'zod';
import { actingApiKeySchema } from './acting-caller.contract.js';
import { replyOf, rpc, type RpcRequest } from './rpc-contract.js';

/** Alert events that are shown of an organization, the latest ones. */
export const MCP_MAX_ALERTS = 100;
/** Events of one page; each is up to 256 KB in the stream and is shown up to `MCP_MAX_ALERT_BYTES`. */
export const MCP_ALERTS_PAGE = 25;
export const MCP_MAX_ALERT_BYTES = 16 * 1024;

/** An event `alert.*` that is still in the stream. */
export interface McpAlert {
  id: string;
  type: string;
  timestamp: string;
  /** Null when it is larger than `MCP_MAX_ALERT_BYTES`. */
  data: Record<string, unknown> | null;
  truncated: boolean;
}

export interface McpAlertsPage {
  alerts: McpAlert[];
  /** The `before` of the next page; null when no older event is in the stream. */
  next: number | null;
}

/** Lists the alert events of the organization of an API key, newest first. */
export const WEBHOOK_DISPATCHER_MCP_LIST_ALERTS = rpc('webhook-dispatcher.mcp.list-alerts', {
  request: z.object({
    caller: actingApiKeySchema,
    /** Lists events with lower numbers; null for the latest ones. */
    before: z.int().min(1).nullable(),
    limit: z.int().min(1).max(MCP_ALERTS_PAGE),
  }),
  reply: replyOf<McpAlertsPage>(),
  timeoutMs: 8_000,
  idempotent: true,
});
export type McpListAlertsRequest = RpcRequest<typeof WEBHOOK_DISPATCHER_MCP_LIST_ALERTS>;
