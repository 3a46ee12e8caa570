import {
  createParamDecorator,
  Injectable,
  type CallHandler,
  type ExecutionContext,
  type NestInterceptor,
} from '@nestjs/common';
import type { AccessRequest } from '@rmm/access';
import { ImportUploadService, type StoredUpload } from './import-upload.service.js';

type WithUpload = AccessRequest & { upload?: StoredUpload };

/** Reads the form of an upload after the caller was accepted. */
@Injectable()
export class ImportUploadInterceptor implements NestInterceptor {
  constructor(private readonly uploads: ImportUploadService) {}

  async intercept(context: ExecutionContext, next: CallHandler) {
    const http = context.switchToHttp();
    const request = http.getRequest<WithUpload>();
    request.upload = await this.uploads.receive(request as never, http.getResponse<object>());
    return next.handle();
  }
}

/** Injects the file that the interceptor stored. */
export const Upload = createParamDecorator((_: unknown, context: ExecutionContext): StoredUpload => {
  const { upload } = context.switchToHttp().getRequest<WithUpload>();
  if (!upload) throw new Error('@Upload() needs the ImportUploadInterceptor');
  return upload;
});
