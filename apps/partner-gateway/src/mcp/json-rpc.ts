import { BadRequestError } from '@rmm/service-kit';

/** @see CONTRACT.md 4.10.10 */
export const RPC_CODES = {
  malformedJson: -32700,
  badEnvelope: -32600,
  unknownMethod: -32601,
  badParameters: -32602,
  internal: -32603,
  limited: -32000,
  unauthorized: -32001,
} as const;

export type RpcId = string | number;

/** A request, or a notification, which nobody waits for. */
export interface RpcCall {
  /** Null for a notification. */
  id: RpcId | null;
  method: string;
  params: Record<string, unknown>;
}

export interface RpcError {
  code: number;
  message: string;
  data?: Record<string, unknown>;
}

export type RpcAnswer = { jsonrpc: '2.0'; id: RpcId | null } & ({ result: object } | { error: RpcError });

/** 400: no JSON-RPC 2.0 request. */
export class BadEnvelope extends BadRequestError {
  override code = 'bad_envelope';
  override error = 'Invalid Request';
}

/** A method refuses what it was asked; the answer is 200 all the same. */
export class RpcRefusal extends Error {
  constructor(
    readonly code: number,
    message: string,
  ) {
    super(message);
  }
}

export const resultOf = (id: RpcId, result: object): RpcAnswer => ({ jsonrpc: '2.0', id, result });
export const errorOf = (id: RpcId | null, error: RpcError): RpcAnswer => ({ jsonrpc: '2.0', id, error });

/**
 * One message. Batches are refused: no revision of MCP that we speak needs them.
 * @throws BadEnvelope
 */
export function readCall(body: unknown): RpcCall {
  if (!isObject(body)) throw new BadEnvelope();
  const { jsonrpc, method, params = {} } = body;
  if (jsonrpc !== '2.0' || typeof method !== 'string' || !isObject(params)) throw new BadEnvelope();
  if (!('id' in body)) return { id: null, method, params };
  if (!isId(body.id)) throw new BadEnvelope();
  return { id: body.id, method, params };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const isId = (value: unknown): value is RpcId =>
  typeof value === 'string' || (typeof value === 'number' && Number.isFinite(value));
