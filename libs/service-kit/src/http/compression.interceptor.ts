import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import type { Response } from 'express';
import type { Observable } from 'rxjs';

const compressible = new WeakSet<Response>();

export const isCompressible = (response: Response): boolean => compressible.has(response);

/** Marks the responses of a route as compressible; `response.json` compresses them. */
@Injectable()
export class CompressionInterceptor implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const response = context.switchToHttp().getResponse<Response>();
    compressible.add(response);
    response.vary('Accept-Encoding');
    return next.handle();
  }
}
