import {
  createParamDecorator,
  Injectable,
  type CallHandler,
  type ExecutionContext,
  type NestInterceptor,
} from '@nestjs/common';
import { catchError, type Observable } from 'rxjs';
import type { AccessRequest } from '@rmm/access';
import { DevPushUploadService, type StoredBuild } from './dev-push-upload.service.js';

type WithBuild = AccessRequest & { build?: StoredBuild };

/** Stores the build of the form after the caller was accepted, and deletes it when the request fails afterwards. */
@Injectable()
export class DevPushUploadInterceptor implements NestInterceptor {
  constructor(private readonly uploads: DevPushUploadService) {}

  async intercept(context: ExecutionContext, next: CallHandler): Promise<Observable<unknown>> {
    const http = context.switchToHttp();
    const request = http.getRequest<WithBuild>();
    const build = await this.uploads.receive(request as never, http.getResponse<object>());
    request.build = build;
    return next.handle().pipe(
      catchError(async (error: unknown) => {
        await this.uploads.discard(build);
        throw error;
      }),
    );
  }
}

/** Injects the build that the interceptor stored. */
export const Build = createParamDecorator((_: unknown, context: ExecutionContext): StoredBuild => {
  const { build } = context.switchToHttp().getRequest<WithBuild>();
  if (!build) throw new Error('@Build() needs the DevPushUploadInterceptor');
  return build;
});
