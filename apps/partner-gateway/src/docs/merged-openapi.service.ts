import { Inject, Injectable } from '@nestjs/common';
import type { OpenAPIObject } from '@nestjs/swagger';
import { Clock, Logger, OpenApiDocuments } from '@rmm/service-kit';
import { type OpenApiSource, PARTNER_GATEWAY_CONFIG, type PartnerGatewayConfig } from '../config.js';
import { documentHead } from './document-head.js';
import { mergeDocuments, type NamedDocument } from './merge-documents.js';

const FRESH_MS = 60_000;
/** A source that failed is fetched again sooner. */
const RETRY_MS = 5_000;
const FETCH_TIMEOUT_MS = 2_000;
const OWN_NAME = 'partner-gateway';

interface CachedDocument {
  document?: OpenAPIObject;
  fetchAgainAt: number;
}

/** Merges the OpenAPI documents of all services. For a service that is down the last document is used. */
@Injectable()
export class MergedOpenApiService {
  private readonly cache = new Map<string, CachedDocument>();
  private refreshing?: Promise<void>;
  private merged?: OpenAPIObject;

  constructor(
    @Inject(PARTNER_GATEWAY_CONFIG)
    private readonly config: Pick<PartnerGatewayConfig, 'openApiSources' | 'publicApiUrl'>,
    private readonly documents: OpenApiDocuments,
    private readonly clock: Clock,
    private readonly logger: Logger,
  ) {}

  /** Returns the document; `x-unavailable` lists services that never responded. */
  async getDocument(): Promise<OpenAPIObject> {
    const now = this.clock.nowMs();
    const stale = this.sources().some(({ name }) => (this.cache.get(name)?.fetchAgainAt ?? 0) <= now);
    if (stale || this.merged === undefined) {
      this.refreshing ??= this.refresh().finally(() => (this.refreshing = undefined));
      await this.refreshing;
    }
    return this.merged as OpenAPIObject;
  }

  private sources(): OpenApiSource[] {
    return this.config.openApiSources.filter(({ name }) => name !== OWN_NAME);
  }

  private async refresh(): Promise<void> {
    await Promise.all(this.sources().map((source) => this.fetchDocument(source)));
    const known: NamedDocument[] = [{ name: OWN_NAME, document: this.documents.own() }];
    const unavailable: string[] = [];
    for (const { name } of this.sources()) {
      const document = this.cache.get(name)?.document;
      if (document) known.push({ name, document });
      else unavailable.push(name);
    }
    const merged = mergeDocuments(documentHead(this.config.publicApiUrl), known);
    this.merged = unavailable.length > 0 ? Object.assign(merged, { 'x-unavailable': unavailable }) : merged;
  }

  private async fetchDocument({ name, url }: OpenApiSource): Promise<void> {
    const before = this.cache.get(name);
    const now = this.clock.nowMs();
    if (before && before.fetchAgainAt > now) return;
    try {
      const response = await fetch(url, { signal: AbortSignal.timeout(FETCH_TIMEOUT_MS) });
      if (!response.ok) throw new Error(`${url} responded with ${response.status}`);
      this.cache.set(name, { document: (await response.json()) as OpenAPIObject, fetchAgainAt: now + FRESH_MS });
    } catch (err) {
      this.logger.warn(
        { err, source: name },
        'OpenAPI document fetch failed; the last document is used and it is fetched again in 5 s',
      );
      this.cache.set(name, { document: before?.document, fetchAgainAt: now + RETRY_MS });
    }
  }
}
