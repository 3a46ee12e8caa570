import { Inject, Injectable } from '@nestjs/common';
import type { OpenAPIObject } from '@nestjs/swagger';
import { Clock, Logger, OpenApiDocuments } from '@rmm/service-kit';
import { type OpenApiSource, PARTNER_GATEWAY_CONFIG, type PartnerGatewayConfig } from '../config.js';
import { mergeDocuments, type NamedDocument } from './merge-documents.js';

const FRESH_MS = 60_000;
/** A source that was down is asked again sooner. */
const RETRY_MS = 5_000;
const FETCH_TIMEOUT_MS = 2_000;
const OWN = 'partner-gateway';

interface Remembered {
  document?: OpenAPIObject;
  askAgainAt: number;
}

/** The API of the whole fleet in one document. A service that is down is shown as it was when it last answered. */
@Injectable()
export class MergedOpenApi {
  private readonly remembered = new Map<string, Remembered>();
  private refreshing?: Promise<void>;
  private merged?: OpenAPIObject;

  constructor(
    @Inject(PARTNER_GATEWAY_CONFIG)
    private readonly config: Pick<PartnerGatewayConfig, 'openApiSources' | 'publicApiUrl'>,
    private readonly documents: OpenApiDocuments,
    private readonly clock: Clock,
    private readonly logger: Logger,
  ) {}

  /** `x-unavailable` names services that have never answered. */
  async document(): Promise<OpenAPIObject> {
    const now = this.clock.nowMs();
    const stale = this.sources().some(({ name }) => (this.remembered.get(name)?.askAgainAt ?? 0) <= now);
    if (stale || this.merged === undefined) {
      this.refreshing ??= this.refresh().finally(() => (this.refreshing = undefined));
      await this.refreshing;
    }
    return this.merged as OpenAPIObject;
  }

  private sources(): OpenApiSource[] {
    return this.config.openApiSources.filter(({ name }) => name !== OWN);
  }

  private async refresh(): Promise<void> {
    await Promise.all(this.sources().map((source) => this.ask(source)));
    const known: NamedDocument[] = [{ name: OWN, document: this.documents.own() }];
    const unavailable: string[] = [];
    for (const { name } of this.sources()) {
      const document = this.remembered.get(name)?.document;
      if (document) known.push({ name, document });
      else unavailable.push(name);
    }
    const merged = mergeDocuments(this.head(), known);
    this.merged = unavailable.length > 0 ? Object.assign(merged, { 'x-unavailable': unavailable }) : merged;
  }

  private async ask({ name, url }: OpenApiSource): Promise<void> {
    const before = this.remembered.get(name);
    const now = this.clock.nowMs();
    if (before && before.askAgainAt > now) return;
    try {
      const answer = await fetch(url, { signal: AbortSignal.timeout(FETCH_TIMEOUT_MS) });
      if (!answer.ok) throw new Error(`${url} answered ${answer.status}`);
      this.remembered.set(name, { document: (await answer.json()) as OpenAPIObject, askAgainAt: now + FRESH_MS });
    } catch (err) {
      this.logger.warn({ err, source: name }, 'an OpenAPI document cannot be had now');
      this.remembered.set(name, { document: before?.document, askAgainAt: now + RETRY_MS });
    }
  }

  private head(): OpenAPIObject {
    return {
      openapi: '3.1.0',
      info: {
        title: 'Fleet API',
        version: '1',
        description: 'Multi-tenant device management for MSPs. Errors share one body; branch on `code` and the status.',
      },
      servers: [{ url: this.config.publicApiUrl }],
      paths: {},
    };
  }
}
