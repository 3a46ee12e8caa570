import http from 'node:http';
import type { FuzzRequest } from './fuzz-requests.js';

export interface RawResponse {
  status: number;
  headers: http.IncomingHttpHeaders;
  text: string;
  milliseconds: number;
}

/** No response may take longer; the services themselves respond 503 after 10 seconds. */
const TIMEOUT_MS = 30_000;

class ConnectionLost extends Error {}

/** Sends requests exactly as they are given: `fetch` would normalize paths and refuse some headers. */
export class RawClient {
  private readonly agent = new http.Agent({ keepAlive: true, maxSockets: 16 });
  private readonly port: number;

  constructor(baseUrl: string) {
    this.port = Number(new URL(baseUrl).port);
  }

  /** @throws when the connection ends without a response */
  async send(request: FuzzRequest, credential: Record<string, string>): Promise<RawResponse> {
    try {
      return await this.sendOnce(request, credential);
    } catch (error) {
      // the server closed an idle connection while the request was on its way
      if (!(error instanceof ConnectionLost)) throw error;
      return this.sendOnce(request, credential);
    }
  }

  private sendOnce(
    { method, target, headers, body }: FuzzRequest,
    credential: Record<string, string>,
  ): Promise<RawResponse> {
    const from = performance.now();
    const encoding = headers['content-type']?.startsWith('multipart/') ? 'latin1' : 'utf8';
    const bytes = body === undefined ? undefined : Buffer.from(body, encoding);
    const length = bytes ? { 'content-length': String(bytes.length) } : {};
    const all = { ...headers, ...credential, ...length };
    const options = { host: '127.0.0.1', port: this.port, method, path: target, headers: all, agent: this.agent };
    return new Promise((resolve, reject) => {
      const request = http.request({ ...options, timeout: TIMEOUT_MS }, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const { statusCode: status = 0 } = response;
          const text = Buffer.concat(chunks).toString();
          resolve({ status, headers: response.headers, text, milliseconds: performance.now() - from });
        });
      });
      request.on('timeout', () => request.destroy(new Error(`no response within ${TIMEOUT_MS} ms`)));
      request.on('error', (error: NodeJS.ErrnoException) =>
        reject(request.reusedSocket && error.code === 'ECONNRESET' ? new ConnectionLost() : error),
      );
      request.end(bytes);
    });
  }

  close(): void {
    this.agent.destroy();
  }
}
