import type { KitRequest } from '../http/kit-request.js';
import type { Logger } from './logger.js';

/** One line a request, put together by hand: it is the only line a healthy request writes. */
export class AccessLog {
  private readonly enabled: boolean;
  private readonly start: string;

  constructor(private readonly logger: Logger) {
    this.enabled = logger.isEnabled('info');
    this.start = `{"level":"info","service":${JSON.stringify(logger.service)},"msg":"request","time":"`;
  }

  /** The route, not the path: paths and queries may carry tokens. An unknown route shows its path, cut. */
  write(request: KitRequest, route: string | undefined, status: number, durationMs: number): void {
    if (!this.enabled) return;
    const where =
      route === undefined ? `","path":${JSON.stringify(request.pathname.slice(0, 200))}` : `","route":"${route}"`;
    const address = request.clientAddress === undefined ? '' : `,"ip":"${request.clientAddress}"`;
    this.logger.sink.write(
      `${this.start}${new Date().toISOString()}","requestId":"${request.requestId}","method":"${request.method}${where},"status":${status},"durationMs":${durationMs.toFixed(2)}${address}}\n`,
    );
  }
}
