import { once } from 'node:events';
import { createServer, type Server } from 'node:http';

/** A span as it is sent in OTLP, with its service and its attributes as an object. */
export interface CollectedSpan {
  service: string;
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  attributes: Record<string, string | number | undefined>;
}

interface OtlpAttribute {
  key: string;
  value: { stringValue?: string; intValue?: number };
}
interface OtlpTraces {
  resourceSpans: {
    resource: { attributes: OtlpAttribute[] };
    scopeSpans: { spans: (Omit<CollectedSpan, 'service' | 'attributes'> & { attributes: OtlpAttribute[] })[] }[];
  }[];
}

/** Receives traces as an OpenTelemetry collector does, in JSON over HTTP. */
export class TraceCollector {
  readonly spans: CollectedSpan[] = [];
  /** The bodies as they were received. */
  readonly bodies: string[] = [];
  private readonly server: Server;

  constructor() {
    this.server = createServer((request, response) => {
      let body = '';
      request.on('data', (chunk: Buffer) => (body += chunk.toString()));
      request.on('end', () => {
        this.bodies.push(body);
        this.collect(JSON.parse(body) as OtlpTraces);
        response.setHeader('Content-Type', 'application/json').end('{}');
      });
    });
  }

  async start(port: number): Promise<void> {
    await once(this.server.listen(port, '127.0.0.1'), 'listening');
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private collect({ resourceSpans }: OtlpTraces): void {
    for (const { resource, scopeSpans } of resourceSpans) {
      const service = String(toObject(resource.attributes)['service.name']);
      for (const { spans } of scopeSpans) {
        for (const { attributes, ...span } of spans) {
          this.spans.push({ ...span, service, attributes: toObject(attributes) });
        }
      }
    }
  }
}

const toObject = (attributes: OtlpAttribute[]): CollectedSpan['attributes'] =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, value.stringValue ?? value.intValue]));
