import type { ApiBodyOptions } from '@nestjs/swagger';
import type { BodyRule, KitRequest } from '@rmm/service-kit';

const MAX_ENVELOPE_BYTES = 150 * 1024 * 1024;

/** The envelope of CONTRACT.md 1.7. JSON passes the door only to hear which parts are missing. */
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
 * Does the request bring a form with at least one part? Known from its headers, so that nothing of a large file is
 * read: a form without parts is its closing line alone. Where no length is told, parts are taken for granted.
 */
export function carriesForm({ headers }: Pick<KitRequest, 'headers'>): boolean {
  const [, quoted, plain] = BOUNDARY.exec(headers['content-type'] ?? '') ?? [];
  const boundary = quoted ?? plain;
  if (boundary === undefined) return false;
  if (headers['content-length'] === undefined) return headers['transfer-encoding'] !== undefined;
  return Number(headers['content-length']) > `\r\n--${boundary}--\r\n`.length;
}
