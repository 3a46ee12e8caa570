import type { BodyRule, ErrorBodyRule } from '@rmm/service-kit';
import { toRpcErrorBody } from './rpc-error.mapper.js';

const PATHS = ['/mcp/message', '/mcp/sse'];

/** @see docs/reference/requests.md */
export const MCP_BODY: BodyRule = { path: '/mcp', limitBytes: 64 * 1024 };

/** A message that is too long is refused before the router, also with a JSON-RPC error. */
export const MCP_ERRORS: readonly ErrorBodyRule[] = PATHS.map((path) => ({ path, toBody: toRpcErrorBody }));
