import { Injectable } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import type { Readable } from 'node:stream';
import type { AccessRequest, Caller } from '@rmm/access';
import { ValidationError } from '@rmm/service-kit';
import { readForm } from '@rmm/validation';
import { resolvePartnerId } from '../partners/partner-scope.policy.js';
import { storeInParts } from '../uploads/store-in-parts.js';
import { FILE_LIMITS } from './files/file.limits.js';
import { ImportFilesRepository } from './files/import-files.repository.js';
import { toStorable } from './files/storable-text.js';

/** A file whose parts are stored, without a run so far. */
export interface StoredUpload {
  runId: string;
  partnerId: string;
  fileName: string;
  bytes: number;
}

const LIMITS = {
  files: 1,
  fields: 3,
  parts: 4,
  fileSize: FILE_LIMITS.bytes,
  fieldSize: 32 * 1024,
  fieldNameSize: 100,
  headerPairs: 20,
};

/** The request as `readForm` leaves it. */
type UploadRequest = AccessRequest & { file?: StoredUpload; body?: Record<string, unknown> };

/** Receives the form of an upload and stores its file. */
@Injectable()
export class ImportUploadService {
  constructor(private readonly files: ImportFilesRepository) {}

  /** Reads the form; its other fields are in the body afterwards. @throws ValidationError, PayloadTooLargeError */
  async receive(request: UploadRequest, response: object): Promise<StoredUpload> {
    const { caller } = request;
    if (!caller) throw new Error('uploads need a caller');
    await readForm(request, response, {
      field: 'file',
      limits: LIMITS,
      rule: 'must be one file of a well-formed form with the fields kind, mapping and partnerId',
      store: (file) => this.store(caller, request, file), // a job deletes parts without a run
    });
    if (!request.file?.bytes) throw ValidationError.forField('file', 'is required');
    return request.file;
  }

  private async store(
    caller: Caller,
    { body }: UploadRequest,
    { stream, originalname }: { stream: Readable; originalname: string },
  ): Promise<StoredUpload> {
    const partnerId = resolvePartnerId(caller, readText(body?.['partnerId']));
    const key = { runId: randomUUID(), partnerId };
    const bytes = await storeInParts(stream, (part, content) => this.files.insertPart(caller, key, part, content));
    return { ...key, fileName: fileNameOf(originalname), bytes };
  }
}

const readText = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

/** The name without folders and control characters. */
function fileNameOf(given: string): string {
  const name = given.split(/[\\/]/).at(-1) ?? '';
  // eslint-disable-next-line no-control-regex -- control characters are removed
  const text = toStorable(name.replace(/[\u0000-\u001f\u007f]/g, ''));
  return text.slice(0, 255) || 'import';
}
