import { Catch, type RpcExceptionFilter } from '@nestjs/common';
import { throwError, type Observable } from 'rxjs';

/** Passes errors of message handlers on unchanged; Nest's default filter replaces them with "Internal server error". */
@Catch()
export class RethrowFilter implements RpcExceptionFilter {
  catch(exception: unknown): Observable<never> {
    return throwError(() => exception);
  }
}
