import {
  applyDecorators,
  type CallHandler,
  createParamDecorator,
  type ExecutionContext,
  type NestInterceptor,
  UseInterceptors,
} from '@nestjs/common';
import { ApiBody, ApiConsumes } from '@nestjs/swagger';
import { buffer } from 'node:stream/consumers';
import { ValidationError } from '@rmm/errors';
import { readForm } from './read-form.js';

interface FormFileOptions {
  /** The name of the field. */
  field: string;
  maxBytes: number;
  description?: string;
}

/** The request as `readForm` leaves it. */
interface WithFile {
  file?: { buffer: Buffer };
}

/** Reads the form after the credential was accepted, whole and in memory. */
class FormFileInterceptor implements NestInterceptor {
  constructor(private readonly options: FormFileOptions) {}

  async intercept(context: ExecutionContext, next: CallHandler) {
    const { field, maxBytes } = this.options;
    const http = context.switchToHttp();
    const request = http.getRequest<WithFile>();
    await readForm(request, http.getResponse<object>(), {
      field,
      limits: { files: 1, fields: 0, parts: 1, fileSize: maxBytes, fieldNameSize: 100, headerPairs: 20 },
      rule: 'must be one file of a well-formed form, and the only field',
      store: async ({ stream }) => ({ buffer: await buffer(stream) }),
    });
    if (!request.file?.buffer.length) throw ValidationError.forField(field, 'is required');
    return next.handle();
  }
}

/**
 * Accepts one file of a multipart form; the handler gets its bytes by `@FormFile()`. Its path needs a body rule
 * `{ contentTypes: ['multipart/form-data'], read: 'stream' }`. The name and type that the client sends
 * are not passed on: inspect the bytes.
 * @throws ValidationError for a malformed form, no or an empty file, any other field; PayloadTooLargeError
 */
export const TakesFormFile = (options: FormFileOptions): MethodDecorator =>
  applyDecorators(
    UseInterceptors(new FormFileInterceptor(options)),
    ApiConsumes('multipart/form-data'),
    ApiBody({
      schema: {
        type: 'object',
        required: [options.field],
        properties: { [options.field]: { type: 'string', format: 'binary', description: options.description } },
      },
    }),
  );

/** Injects the bytes of the file of a route with `@TakesFormFile`. */
export const FormFile = createParamDecorator((_: unknown, context: ExecutionContext): Buffer => {
  const { file } = context.switchToHttp().getRequest<WithFile>();
  if (!file) throw new Error('@FormFile() needs @TakesFormFile() on the route');
  return file.buffer;
});
