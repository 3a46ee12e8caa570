import { createHmac, timingSafeEqual } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import type { ExportRequest } from '@rmm/contracts';
import { Clock } from '@rmm/service-kit';
import { PARTNER_GATEWAY_CONFIG, type PartnerGatewayConfig } from '../config.js';
import { canonicalJson } from './canonical-json.js';
import { InvalidExportCursor } from './export.errors.js';

/** What stays the same from the first page of a walk to its last. */
export interface Walk {
  resource: string;
  partnerId: string;
  orgId: string | null;
  updatedSince: string | null;
}

/** Where a walk stands. */
export interface WalkPosition {
  snapshotAt: string;
  after: NonNullable<ExportRequest['after']>;
}

interface CursorBody extends Walk, WalkPosition {
  version: 1;
  expiresAt: string;
}

const LIFE_MS = 24 * 60 * 60 * 1000;

/**
 * Cursors of the partner interface: canonical JSON, base64url, a dot, HMAC-SHA256. Good for 24 hours from the snapshot,
 * for the same partner, resource and filters. @see CONTRACT.md 4.4.2
 */
@Injectable()
export class ExportCursors {
  private readonly key: Buffer;

  constructor(
    @Inject(PARTNER_GATEWAY_CONFIG) config: Pick<PartnerGatewayConfig, 'cursorSigningKey'>,
    private readonly clock: Clock,
  ) {
    this.key = createHmac('sha256', config.cursorSigningKey).update('partner-export-cursor').digest();
  }

  encode(walk: Walk, { snapshotAt, after }: WalkPosition): string {
    const expiresAt = new Date(new Date(snapshotAt).getTime() + LIFE_MS).toISOString();
    const { resource, partnerId, orgId, updatedSince } = walk;
    const body: CursorBody = { version: 1, resource, partnerId, orgId, updatedSince, snapshotAt, after, expiresAt };
    const text = Buffer.from(canonicalJson(body)).toString('base64url');
    return `${text}.${this.sign(text).toString('base64url')}`;
  }

  /** @throws InvalidExportCursor */
  decode(cursor: string, walk: Walk): WalkPosition {
    const [text, signature, ...rest] = cursor.split('.');
    if (!text || !signature || rest.length > 0) throw new InvalidExportCursor();
    const given = Buffer.from(signature, 'base64url');
    const expected = this.sign(text);
    if (given.length !== expected.length || !timingSafeEqual(given, expected)) throw new InvalidExportCursor();
    const body = JSON.parse(Buffer.from(text, 'base64url').toString()) as CursorBody;
    const same =
      body.version === 1 &&
      body.resource === walk.resource &&
      body.partnerId === walk.partnerId &&
      body.orgId === walk.orgId &&
      body.updatedSince === walk.updatedSince;
    if (!same || this.clock.nowMs() > Date.parse(body.expiresAt)) throw new InvalidExportCursor();
    return { snapshotAt: body.snapshotAt, after: body.after };
  }

  private sign(text: string): Buffer {
    return createHmac('sha256', this.key).update(text).digest();
  }
}
