import { Inject, Injectable } from '@nestjs/common';
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { ExportRequest } from '@rmm/contracts';
import { Clock } from '@rmm/service-kit';
import { canonicalJson } from '@rmm/validation';
import { PARTNER_GATEWAY_CONFIG, type PartnerGatewayConfig } from '../config.js';
import { InvalidExportCursor } from './export.errors.js';

/** The resource and filters of an export, the same on each of its pages. */
export interface ExportScope {
  resource: string;
  partnerId: string;
  orgId: string | null;
  /** Absent for resources without sites. */
  siteId?: string | null;
  updatedSince: string | null;
}

/** The snapshot of an export and the last record of a page. */
export interface ExportPosition {
  snapshotAt: string;
  after: NonNullable<ExportRequest['after']>;
}

interface CursorBody extends ExportScope, ExportPosition {
  version: 1;
  expiresAt: string;
}

const LIFETIME_MS = 24 * 60 * 60 * 1000;

/**
 * Signs and verifies the cursors of the partner interface: canonical JSON, base64url, a dot, HMAC-SHA256. A cursor is valid
 * for 24 hours from the snapshot, for the same partner, resource and filters.
 * @see docs/reference/partner-interface.md
 */
@Injectable()
export class ExportCursorsService {
  private readonly key: Buffer;

  constructor(
    @Inject(PARTNER_GATEWAY_CONFIG) config: Pick<PartnerGatewayConfig, 'cursorSigningKey'>,
    private readonly clock: Clock,
  ) {
    this.key = createHmac('sha256', config.cursorSigningKey).update('partner-export-cursor').digest();
  }

  encode(scope: ExportScope, { snapshotAt, after }: ExportPosition): string {
    const expiresAt = new Date(new Date(snapshotAt).getTime() + LIFETIME_MS).toISOString();
    const { resource, partnerId, orgId, siteId, updatedSince } = scope;
    const filters = { orgId, siteId: siteId ?? undefined, updatedSince };
    const body: CursorBody = { version: 1, resource, partnerId, ...filters, snapshotAt, after, expiresAt };
    const text = Buffer.from(canonicalJson(body)).toString('base64url');
    return `${text}.${this.sign(text)}`;
  }

  /** @throws InvalidExportCursor */
  decode(cursor: string, scope: ExportScope): ExportPosition {
    const [text, signature, ...rest] = cursor.split('.');
    if (!text || !signature || rest.length > 0) throw new InvalidExportCursor();
    const given = Buffer.from(signature);
    const expected = Buffer.from(this.sign(text));
    if (given.length !== expected.length || !timingSafeEqual(given, expected)) throw new InvalidExportCursor();
    const body = JSON.parse(Buffer.from(text, 'base64url').toString()) as CursorBody;
    const same =
      body.version === 1 &&
      body.resource === scope.resource &&
      body.partnerId === scope.partnerId &&
      body.orgId === scope.orgId &&
      (body.siteId ?? null) === (scope.siteId ?? null) &&
      body.updatedSince === scope.updatedSince;
    if (!same || this.clock.nowMs() > Date.parse(body.expiresAt)) throw new InvalidExportCursor();
    return { snapshotAt: body.snapshotAt, after: body.after };
  }

  /** Returns the text of the signature. Texts are compared, since decoding accepts several texts for the same bytes. */
  private sign(text: string): string {
    return createHmac('sha256', this.key).update(text).digest('base64url');
  }
}
