import type { IncomingHttpHeaders } from 'node:http';
import { RPC_CODES, type RpcCall } from '../json-rpc.mapper.js';
import { RpcMethodFailed } from '../mcp.errors.js';

/** The generation that begins with `initialize`. */
export const HANDSHAKE_VERSION = '2024-11-05';
/** The generation in which each request states its version and there are no sessions. */
export const STATELESS_VERSION = '2026-07-28';
export const SUPPORTED_VERSIONS = [STATELESS_VERSION, HANDSHAKE_VERSION] as const;

export type Generation = 'handshake' | 'stateless';

/** Clients of these revisions begin with `initialize` and accept the version that the response names. */
const HANDSHAKE_REVISIONS: readonly unknown[] = [HANDSHAKE_VERSION, '2025-03-26', '2025-06-18', '2025-11-25'];
const VERSION_KEY = 'io.modelcontextprotocol/protocolVersion';
const CAPABILITIES_KEY = 'io.modelcontextprotocol/clientCapabilities';
/** The parameter that `Mcp-Name` repeats. */
const NAMED_BY: Readonly<Record<string, string>> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
};
const BASE64_VALUE = /^=\?base64\?([A-Za-z0-9+/=_-]*)\?=$/;

/** Returns the generation of a message. One that names no version, or one of the handshake revisions, is of the first. */
export function generationOf(headers: IncomingHttpHeaders, call: RpcCall): Generation {
  if (metaOf(call)[VERSION_KEY] !== undefined) return 'stateless';
  const version = headers['mcp-protocol-version'];
  return version === undefined || HANDSHAKE_REVISIONS.includes(version) ? 'handshake' : 'stateless';
}

/**
 * Checks what a message of the stateless generation states about itself: its headers repeat parts of its body, so that
 * those who route by headers and those who read the body see the same.
 * @throws RpcMethodFailed  400: -32020 for a missing or different header, -32022 for another version, -32602 for a request
 *   without its version or its capabilities
 */
export function checkStateless(headers: IncomingHttpHeaders, call: RpcCall): void {
  const meta = metaOf(call);
  const version = headers['mcp-protocol-version'];
  const isRequest = call.id !== null;
  if (isRequest && version === STATELESS_VERSION && meta[VERSION_KEY] === undefined) throw missing(VERSION_KEY);
  const stated = meta[VERSION_KEY] ?? (isRequest ? undefined : version);
  if (version === undefined || version !== stated) throw mismatch('MCP-Protocol-Version');
  if (version !== STATELESS_VERSION) {
    const data = { supported: [...SUPPORTED_VERSIONS], requested: String(version).slice(0, 100) };
    throw new RpcMethodFailed(RPC_CODES.unsupportedVersion, 'Unsupported protocol version', { data, status: 400 });
  }
  if (headers['mcp-method'] !== call.method) throw mismatch('Mcp-Method');
  const parameter = isRequest ? NAMED_BY[call.method] : undefined;
  if (parameter !== undefined && readHeader(headers['mcp-name']) !== call.params[parameter]) throw mismatch('Mcp-Name');
  const capabilities = meta[CAPABILITIES_KEY];
  if (isRequest && (typeof capabilities !== 'object' || capabilities === null)) throw missing(CAPABILITIES_KEY);
}

const missing = (key: string): RpcMethodFailed =>
  new RpcMethodFailed(RPC_CODES.invalidParameters, `_meta must have ${key}`, { status: 400 });

const mismatch = (header: string): RpcMethodFailed =>
  new RpcMethodFailed(RPC_CODES.headerMismatch, `Header mismatch: ${header} is missing or differs from the body`, {
    status: 400,
  });

function metaOf({ params }: RpcCall): Record<string, unknown> {
  const meta = params['_meta'];
  return typeof meta === 'object' && meta !== null ? (meta as Record<string, unknown>) : {};
}

/** Returns the value of a header, which clients encode when it is no plain ASCII. */
function readHeader(value: string | string[] | undefined): string | undefined {
  if (typeof value !== 'string') return undefined;
  const encoded = BASE64_VALUE.exec(value)?.[1];
  return encoded === undefined ? value : Buffer.from(encoded, 'base64').toString();
}
