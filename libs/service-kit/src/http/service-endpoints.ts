import type { HealthRegistry } from '../health/health-registry.js';
import type { Logger } from '../logging/logger.js';
import type { MetricsRegistry } from '../metrics/metrics-registry.js';
import type { OpenApiDocuments } from '../openapi/openapi-documents.js';
import type { KitRequest, KitResponse } from './kit-request.js';

interface Document {
  status: number;
  type: string;
  text: string;
}

const JSON_TYPE = 'application/json; charset=utf-8';
const LIVE: Document = { status: 200, type: JSON_TYPE, text: '{"status":"ok"}' };

/** What a service answers on its own port only, before and beside its routes. @see CONTRACT.md 1.8 */
export class ServiceEndpoints {
  private readonly documents: ReadonlyMap<string, () => Document | Promise<Document>>;

  /** @param openApiPath  null when the application serves that path itself */
  constructor(
    health: HealthRegistry,
    metrics: MetricsRegistry,
    openApi: OpenApiDocuments,
    private readonly logger: Logger,
    openApiPath: string | null,
  ) {
    const documents = new Map<string, () => Document | Promise<Document>>([
      ['/health/live', () => LIVE],
      ['/health/ready', () => readiness(health)],
      ['/metrics', async () => ({ status: 200, type: metrics.contentType, text: await metrics.text() })],
    ]);
    if (openApiPath !== null) {
      documents.set(openApiPath, () => ({ status: 200, type: JSON_TYPE, text: JSON.stringify(openApi.own()) }));
    }
    this.documents = documents;
  }

  serves(pathname: string): boolean {
    return this.documents.has(pathname);
  }

  /** @returns true when the request is one of these */
  answer(request: KitRequest, response: KitResponse): boolean {
    const make = this.documents.get(request.pathname);
    if (make === undefined || (request.method !== 'GET' && request.method !== 'HEAD')) return false;
    request.resume();
    void this.write(make, request.pathname, response);
    return true;
  }

  private async write(make: () => Document | Promise<Document>, path: string, response: KitResponse): Promise<void> {
    let document: Document;
    try {
      document = await make();
    } catch (err) {
      this.logger.error({ err, path }, 'a service endpoint failed');
      document = { status: 503, type: JSON_TYPE, text: '{"status":"unavailable"}' };
    }
    response.statusCode = document.status;
    response.setHeader('Content-Type', document.type);
    response.setHeader('Cache-Control', 'no-store');
    if (document.status === 503) response.setHeader('Retry-After', '1');
    response.end(document.text);
  }
}

async function readiness(health: HealthRegistry): Promise<Document> {
  const { ready, body } = await health.readiness();
  return { status: ready ? 200 : 503, type: JSON_TYPE, text: JSON.stringify(body) };
}
