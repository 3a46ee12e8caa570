import type { ApiBodyOptions } from '@nestjs/swagger';
import type { BodyRule, KitRequest } from '@rmm/service-kit';

const MAX_ENVELOPE_BYTES = 150 * 1024 * 1024;

/** JSON is accepted too, so that the response can name the missing parts. @see docs/reference/requests.md */
export const DEV_PUSH_BODY: BodyRule = {
  path: '/dev/push',
  limitBytes: MAX_ENVELOPE_BYTES,
  contentTypes: ['multipart/form-data', 'application/json'],
  read: 'stream',
};

export const DEV_PUSH_FORM: ApiBodyOptions = {
  schema: {
    type: 'object',
    required: ['agentId', 'binary'],
    properties: {
      agentId: { type: 'string', format: 'uuid' },
      binary: { type: 'string', format: 'binary', description: 'At most 100 MB' },
      version: { type: 'string' },
      component: { type: 'string', enum: ['agent', 'desktop-helper', 'user-helper'], default: 'agent' },
    },
  },
};

const BOUNDARY = /^multipart\/form-data\s*;.*\bboundary=(?:"([^"]{1,70})"|([^\s;"]{1,70}))/i;

/**
 * Returns whether the request has a form with at least one part. Only headers are read, so that a large file is never
 * received: a form without parts consists of its closing line. Without a length, parts are assumed.
 */
export function hasFormParts({ headers }: Pick<KitRequest, 'headers'>): boolean {
  const [, quoted, plain] = BOUNDARY.exec(headers['content-type'] ?? '') ?? [];
  const boundary = quoted ?? plain;
  if (boundary === undefined) return false;
  if (headers['content-length'] === undefined) return headers['transfer-encoding'] !== undefined;
  return Number(headers['content-length']) > `\r\n--${boundary}--\r\n`.length;
}
