import multer from 'multer';
import type { Readable } from 'node:stream';
import { PayloadTooLargeError, ValidationError } from '@rmm/errors';

interface FormReading<T extends object> {
  /** The name of the field of the file. */
  field: string;
  limits: NonNullable<multer.Options['limits']>;
  /** Message of the field for a form that cannot be read. */
  rule: string;
  /** Stores the file while it arrives. @returns what `request.file` has afterwards */
  store: (file: { stream: Readable; originalname: string }) => Promise<T>;
}

/**
 * Reads a multipart form with one file; its other fields are in the body afterwards.
 * @throws PayloadTooLargeError; ValidationError when it is malformed or the client has gone; the error of `store`
 */
export async function readForm<T extends object>(
  request: object,
  response: object,
  { field, limits, rule, store }: FormReading<T>,
): Promise<void> {
  const unreadable = (cause: unknown) => new ValidationError(undefined, { fieldErrors: { [field]: [rule] }, cause });
  // multer waits for an event that a request emitted already when its client left during the access checks.
  if ((request as Readable).destroyed) throw unreadable(new Error('the request was closed'));
  let storeError: Error | undefined;
  const storage: multer.StorageEngine = {
    _handleFile: (_, file, done) => {
      store(file).then(
        (stored) => done(null, stored),
        (error: Error) => done((storeError = error)),
      );
    },
    _removeFile: (_request, _file, done) => done(null),
  };
  const read = multer({ storage, limits, defParamCharset: 'utf8' }).single(field);
  await new Promise<void>((resolve, reject) => {
    read(request as never, response as never, (error: unknown) => {
      if (!error) resolve();
      else if (error === storeError) reject(storeError);
      else reject(isTooLarge(error) ? new PayloadTooLargeError(undefined, { cause: error }) : unreadable(error));
    });
  });
}

/** Reports whether the parser, which has one class for all limits, stopped at the limit of the size. */
const isTooLarge = (error: unknown): boolean => error instanceof multer.MulterError && error.code === 'LIMIT_FILE_SIZE';
