import {
  applyDecorators,
  type CallHandler,
  createParamDecorator,
  type ExecutionContext,
  type NestInterceptor,
  PayloadTooLargeException,
  UseInterceptors,
} from '@nestjs/common';
import { FileInterceptor } from '@nestjs/platform-express';
import { ApiBody, ApiConsumes } from '@nestjs/swagger';
import { PayloadTooLargeError, ValidationError } from '@rmm/errors';

interface FormFileOptions {
  /** The name of the field. */
  field: string;
  maxBytes: number;
  description?: string;
}

/** The part of the request that multer sets. */
interface WithFile {
  file?: { buffer: Buffer };
}

/** Reads the form after the credential was accepted, whole and in memory. */
class FormFileInterceptor implements NestInterceptor {
  private readonly form: NestInterceptor;

  constructor(private readonly options: FormFileOptions) {
    const limits = { files: 1, fields: 0, parts: 1, fileSize: options.maxBytes, fieldNameSize: 100, headerPairs: 20 };
    this.form = new (FileInterceptor(options.field, { limits }))();
  }

  async intercept(context: ExecutionContext, next: CallHandler) {
    const { field } = this.options;
    try {
      const result = await this.form.intercept(context, next); // the handler has not run yet
      const { file } = context.switchToHttp().getRequest<WithFile>();
      if (!file?.buffer.length) throw ValidationError.forField(field, 'is required');
      return result;
    } catch (cause) {
      if (cause instanceof ValidationError) throw cause;
      if (cause instanceof PayloadTooLargeException) throw new PayloadTooLargeError(undefined, { cause });
      const fieldErrors = { [field]: ['must be one file of a well-formed form, and the only field'] };
      throw new ValidationError(undefined, { fieldErrors, cause });
    }
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
